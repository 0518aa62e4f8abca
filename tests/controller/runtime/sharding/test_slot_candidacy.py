"""
Members that renew, mark and list, with a replica of an earlier version beside them, while the network, the
server, the processes and a user do what they like: never do two believe that they may write for a slot.

Here each request is a moment at which something else may happen. Whole groups are in test_coordinator.py.
Their clocks go at one rate; each has a wall clock of its own, which is wrong. The durations are tight: others
wait for only a second longer than the holder of a Lease tries.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

import pytest
from prometheus_client import CollectorRegistry

from handloop.client.errors import ClientError, DeadlineExceeded
from handloop.client.http.response import Response
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.election.candidacy import Candidacy
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.sharding.members import MARKS_LABEL, Members
from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics
from handloop.controller.runtime.sharding.shards import Shards
from handloop.controller.runtime.sharding.slot_candidacy import SlotCandidacy
from handloop.testing.fake_clock import FakeClock
from support.doubles.skewed_clock import SkewedClock
from support.rigs.election import LeaseAPI, refusal

LEASE: Final = 11.0
TERMS: Final = LeaseTerms(namespace="demo", name="op", lease_duration_seconds=LEASE)
SLOT: Final = "op-slot-0-of-1"
OLD: Final = "old"
PERIOD: Final = TERMS.retry_period_seconds
TICK: Final = 0.5


class _Waiting(SkewedClock):
    """It sleeps while the others of its world have their turns."""

    def sleep(self, seconds: float, _stop: Any) -> bool:
        self._shared.advance(seconds)
        return False


class Member:
    """
    A replica with one slot: what ShardCoordinator and LeaderElector do with it, step by step.

    Fields: sleeps_until, until when it is suspended; turns_until, until when its thread `shards` gets nothing
    done; past, the list that the server gives it, None = the newest; refused, a part of the names that it may
    not write.
    """

    def __init__(self, world: World, name: str, skew: float) -> None:
        self.name = name
        self.world = world
        self.clock = _Waiting(world.clock, skew)
        self.sleeps_until = 0.0
        self.turns_until = 0.0
        self.past: Response | None = None
        self.refused = ""
        self.leaves = False
        self.members = Members(
            Shards(1), TERMS, self._client(), f"{name}_{name}", metrics=_metrics(), clock=self.clock
        )
        config = self.members.slot_config(0)
        self.slot: Candidacy
        if name == OLD:
            self._be_of_an_earlier_version()
            self.slot = Candidacy(config, clock=self.clock, metrics=_metrics())
        else:
            self.slot = SlotCandidacy(config, lambda: self.members.view, clock=self.clock, metrics=_metrics())

    def _client(self) -> ResourceClient[Any]:
        client = self.world.api.client()
        client._rest._transport = cast("Any", self)  # of this member alone
        return client

    def _be_of_an_earlier_version(self) -> None:
        """It knows no marks: a Lease lasts for its own duration."""
        own: Any = self.members
        labels = own._own_lock._labels
        own._own_lock._labels = type(labels)({key: labels[key] for key in labels if key != MARKS_LABEL})
        own._clear_the_dead = lambda: None
        own._ends_at = lambda seen: seen.expires_at()

    def request(self, method: str, path: str, **options: Any) -> Response:
        """A request, at whose begin and end something may happen."""
        return self.world.request(self, method, path, options)

    def turn(self) -> None:
        """As `shards` does each retry period."""
        if self.leaves:
            return
        try:
            self.members.turn()
        except ClientError:
            return
        lease, renewal = self.members.slot_leases().get(0), self.members.view.renewal
        if not self.slot.is_leading:
            if lease is not None:
                self.slot.observe(lease)
        elif renewal is not None and isinstance(self.slot, SlotCandidacy):
            self.slot.confirm(renewal, lease)

    def step(self) -> None:
        """As the elector does each retry period: a slot that was lost is never renewed, but taken anew."""
        slot = self.slot
        if slot.is_leading and self.clock.now() >= slot.renew_deadline():
            slot.stop_leading()
        elif slot.is_leading:
            if not slot.try_acquire_or_renew(deadline=slot.renew_deadline()) and slot.held_by_another():
                slot.stop_leading()
        elif self.members.joined and slot.try_acquire_or_renew():
            slot.start_leading()

    def look(self) -> None:
        """See the Lease as it is, as a list would show it."""
        with suppress(ClientError):
            if not self.slot.seconds_to_write():
                self.slot.observe(self.world.api.client().get(SLOT, namespace="demo"))

    def end(self) -> None:
        """Its work ends: the slot is released, or left to expire."""
        self.slot.stop_leading()
        if self.world.chance.random() < 0.7:
            self.slot.release()
        elif isinstance(self.slot, SlotCandidacy) and self.slot.is_left_marked():
            self.slot.let_expire()


def _metrics() -> ShardMetrics:
    return ShardMetrics(CollectorRegistry())


class World:
    """
    A server, its members, and chance, which decides who does what when.

    Fields: seen, how often the slot was marked, taken, and so on, so that a test knows what was tried.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.api = LeaseAPI()
        self.clock = FakeClock(start=1000.0)
        self.api.time = self.clock.time
        self.trouble = self.chance.choice([0.0, 0.02, 0.1])
        names = ["a", "b", "c", *([OLD] if self.chance.random() < 0.3 else [])]
        skews = (0.0, 86_400.0, -3_600.0, 7.0)
        self.members = [Member(self, name, skew) for name, skew in zip(names, skews, strict=False)]
        self.depth = 0
        self.due: list[tuple[float, Callable[[], object]]] = []
        self.seen = Counter[str]()
        self._holder = ""

    def check(self) -> None:
        """Never two."""
        writers = [each.name for each in self.members if each.slot.seconds_to_write() > 0]
        assert len(writers) <= 1, writers
        if writers and writers[0] != self._holder:
            self._holder = writers[0]
            self.seen["taken"] += 1

    def pass_time(self, seconds: float) -> None:
        """Time passes, and requests that were on their way arrive."""
        self.clock.advance(seconds)
        for at, arrive in self.due[:]:
            if at <= self.clock.now():
                self.due.remove((at, arrive))
                arrive()
        self.check()

    def request(self, who: Member, method: str, path: str, options: Mapping[str, Any]) -> Response:
        self._maybe_happens(who)
        if who.refused and who.refused in path and method != "GET":
            return refusal(403, "Forbidden")
        if self.chance.random() < self.trouble:
            return self._troubled(who, method, path, options)
        answer = self._answer(who, method, path, options)
        self._maybe_happens(who)
        return answer

    def _answer(self, who: Member, method: str, path: str, options: Mapping[str, Any]) -> Response:
        is_list = method == "GET" and path.endswith("/leases")
        if is_list and who.past is not None:
            return who.past
        answer = self.api.request(method, path, **options)
        self.check()
        if is_list:
            listed = json.loads(answer.body)["items"]
            marks = [item["metadata"].get("annotations", {}) for item in listed]
            self.seen["marked"] += any(mark.get("handloop.dev/renewed-by") for mark in marks)
        return answer

    def _troubled(self, who: Member, method: str, path: str, options: Mapping[str, Any]) -> Response:
        """A request that is refused, lost, answered in vain, or given up and arrives later."""
        what = self.chance.choice(["refused", "lost", "unheard", "late"])
        self.seen[what] += 1
        if what == "refused":
            return refusal(500, "InternalError")
        if what == "unheard":
            self._answer(who, method, path, options)
        if what == "late":
            at = self.clock.now() + self.chance.choice([0.1, 3.0, 12.0, 30.0])
            self.due.append((at, lambda: self.api.request(method, path, **options)))
        raise DeadlineExceeded("no answer")

    def _maybe_happens(self, who: Member) -> None:
        """Between two requests: it is suspended, or another one acts."""
        if self.depth or self.chance.random() > 0.03:
            return
        self.depth += 1
        try:
            if self.chance.random() < 0.5:
                seconds = self.chance.choice([0.5, 1.5, 4.0, 9.0, 10.5, 12.0, 20.0])
                self.live(seconds, without=who)
            else:
                self._act(self.chance.choice(self.members))
        finally:
            self.depth -= 1

    def live(self, seconds: float, without: Member | None = None) -> None:
        """All go on, one perhaps not."""
        for _ in range(round(seconds / TICK)):
            for member in self.chance.sample(self.members, len(self.members)):
                if member is not without and self.clock.now() >= member.sleeps_until:
                    if self.chance.random() < TICK / PERIOD and self.clock.now() >= member.turns_until:
                        member.turn()
                    if self.chance.random() < TICK / PERIOD:
                        member.step()
                self.check()
            self.pass_time(TICK)

    def _act(self, member: Member) -> None:
        self.chance.choice([member.turn, member.step])()
        self.check()

    def disturb(self) -> None:
        """Something that lasts, or that a user does."""
        member, now = self.chance.choice(self.members), self.clock.now()
        seconds = self.chance.choice([1.0, 5.0, 9.5, 10.5, 11.5, 15.0, 40.0])
        what = self.chance.choice(
            [
                "sleep",
                "no turns",
                "past",
                "refused",
                "end",
                "leave",
                "spoil slot",
                "spoil member",
                "all sleep",
            ]
        )
        self.seen[what] += 1
        if what == "sleep":
            member.sleeps_until = now + seconds
        elif what == "no turns":
            member.turns_until = now + seconds
        elif what == "all sleep":
            self.pass_time(seconds)
        elif what == "past":
            self.past(member)
        elif what == "refused":
            member.refused = self.chance.choice(["-member-", "-slot-", "op-"])
        elif what == "end" and member.slot.is_leading:
            member.end()
        elif what == "leave" and not member.leaves:
            member.members.leave()
            member.leaves = True
        elif what == "spoil slot":
            self._spoil(f"demo/{SLOT}")
        elif what == "spoil member":
            self._spoil(f"demo/op-member-{member.name}")
        self.check()

    def past(self, member: Member) -> None:
        """From now on the server's lists are those of this moment."""
        query = {"labelSelector": "handloop.dev/shards=op"}
        path = "/apis/coordination.k8s.io/v1/namespaces/demo/leases"
        member.past = self.api.request("GET", path, query=query)

    def mend(self) -> None:
        """What lasted ends, mostly."""
        for member in self.members:
            if self.chance.random() < 0.7:
                member.past, member.refused = None, ""
            if member.leaves and self.chance.random() < 0.5:
                member.leaves = False

    def _spoil(self, path: str) -> None:
        """Somebody deletes or empties a Lease whose holder all have just seen."""
        for member in self.members:
            member.look()
        if path not in self.api.paths():
            return
        if self.chance.random() < 0.5:
            self.api.delete(path)
        else:
            lease = self.api.lease(path)
            lease["spec"]["holderIdentity"] = ""
            with self.api._lock:
                self.api._store(path, lease)


def play(seed: int, rounds: int = 30) -> Counter[str]:
    """One story."""
    world = World(seed)
    world.live(world.chance.choice([6.0, 20.0]))
    for _ in range(rounds):
        world.disturb()
        world.live(world.chance.choice([0.5, 2.0, 4.0, 11.0, 15.0]))
        world.mend()
    return world.seen


@pytest.mark.parametrize("seed", range(40))
def test_never_do_two_write_for_a_slot(seed: int) -> None:
    """Whatever happens."""
    play(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(40, 1000))
def test_never_do_two_write_for_a_slot_at_length(seed: int) -> None:
    """As above."""
    play(seed)


def test_the_stories_are_about_marked_slots() -> None:
    """Which change hands, while all that can go wrong does."""
    seen = sum((play(seed) for seed in range(20)), Counter[str]())
    assert seen["marked"] > 1000
    assert seen["taken"] > 50
    assert min(seen.values()) > 5, seen


def settled() -> tuple[World, Member]:
    """Members among whom nothing is amiss. Returns: also the one that has marked the slot."""
    world = World(0)
    world.chance.random = lambda: 0.5  # type: ignore[method-assign] # nothing happens, and all have turns
    world.trouble = 0.0
    for _ in range(20):
        for member in world.members:
            member.turn()
            member.step()
        world.pass_time(PERIOD)
    holder = next(member for member in world.members if member.slot.seconds_to_write())
    assert renewed_by(world) == holder.slot._lease.identity
    return world, holder


def renewed_by(world: World) -> str:
    """The mark on the slot."""
    mark: str = world.api.lease(f"demo/{SLOT}")["metadata"]["annotations"]["handloop.dev/renewed-by"]
    return mark


def test_a_list_from_before_our_renewal_confirms_nothing() -> None:
    """A server whose lists are from the past shows a mark that a user has long emptied."""
    world, holder = settled()
    world.past(holder)
    for _ in range(3):
        world.pass_time(PERIOD)
        holder.turn()
        holder.step()
    assert holder.members.view.renewal is None
    assert (renewed_by(world), holder.slot.seconds_to_write()) == ("", LEASE - 1)


def test_a_slot_that_is_left_marked_can_expire() -> None:
    """While no elector runs, its member's Lease goes on, and would keep it for ever."""
    _, holder = settled()
    assert isinstance(holder.slot, SlotCandidacy)
    holder.slot.stop_leading()
    assert holder.slot.is_left_marked()
    holder.slot.let_expire()
    assert not holder.slot.is_left_marked()


def test_where_retries_are_rare_nothing_is_marked() -> None:
    """A mark that is not confirmed in time leaves time for two tries alone; here it would not."""
    rare = LeaseTerms(namespace="demo", name="op", lease_duration_seconds=LEASE, retry_period_seconds=3.0)
    world, holder = settled()
    assert isinstance(holder.slot, SlotCandidacy)
    slot = SlotCandidacy(
        rare.config(holder.slot._lease, of_many=True),
        lambda: holder.members.view,
        clock=holder.clock,
        metrics=_metrics(),
    )
    assert slot.try_acquire_or_renew()
    slot.start_leading()
    assert slot.try_acquire_or_renew()
    assert renewed_by(world) == ""
