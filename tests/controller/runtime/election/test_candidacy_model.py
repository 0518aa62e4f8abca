"""
Candidates that renew, sleep, lose answers and are refused, in any order: never do two of them believe that
they may write.

Their clocks go at one rate; each has a wall clock of its own, which is wrong.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from prometheus_client import CollectorRegistry

from handloop.client.errors import DeadlineExceeded
from handloop.client.http.response import Response
from handloop.controller.runtime.election.candidacy import Candidacy
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.testing.fake_clock import FakeClock
from support.doubles.skewed_clock import SkewedClock
from support.rigs.election import LeaseAPI, refusal

PATH = "demo/foo"
NAMES = ("a", "b", "c")
WHO = st.sampled_from(NAMES)
SECONDS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0, 9.9, 10.0, 14.9, 15.0, 15.1, 60.0])


class Elections(RuleBasedStateMachine):
    """Three candidates for one lease, 15 s / 10 s / 2 s."""

    def __init__(self) -> None:
        super().__init__()
        self.api = LeaseAPI()
        self.clock = FakeClock(start=1000.0)
        self.candidates = {
            name: Candidacy(
                LeaderElectionConfig(
                    LeaseLock(self.api.client(), namespace="demo", name="foo", identity=name)
                ),
                clock=SkewedClock(self.clock, skew),
                metrics=LeaderElectionMetrics(CollectorRegistry()),
            )
            for name, skew in zip(NAMES, (0.0, 86_400.0, -3_600.0), strict=True)
        }

    @rule(who=WHO)
    def try_it(self, who: str) -> None:
        """One step of an elector's loop."""
        if self.candidates[who].try_acquire_or_renew():
            self.candidates[who].start_leading()

    @rule(who=WHO, taken=SECONDS)
    def try_it_slowly(self, who: str, taken: float) -> None:
        """The server takes the request when it comes, and its answer takes its time."""
        before = self.api.before

        def slow(_verb: str) -> Response | None:
            self.clock.advance(taken)
            return None

        self.api.before = slow
        self.try_it(who)
        self.api.before = before

    @rule(who=WHO, other=WHO)
    def be_overtaken(self, who: str, other: str) -> None:
        """Another's whole step comes between our reading and our writing."""

        def overtake(verb: str) -> Response | None:
            if verb != "get":
                self.api.before = _nothing
                self.try_it(other)
            return None

        self.api.before = overtake
        self.try_it(who)
        self.api.before = _nothing

    @rule(who=WHO, verb=st.sampled_from(["get", "create", "update"]), conflict=st.booleans())
    def be_refused(self, who: str, verb: str, conflict: bool) -> None:
        """The server refuses the first such request."""
        left = [1]

        def refuse(seen: str) -> Response | None:
            if seen != verb or not left:
                return None
            left.clear()
            return refusal(409, "Conflict") if conflict else refusal(500, "InternalError")

        self.api.before = refuse
        self.try_it(who)
        self.api.before = _nothing

    @rule(who=WHO, taken=SECONDS)
    def lose_the_answer(self, who: str, taken: float) -> None:
        """The write is taken, and we never hear of it."""
        act = self.api._act

        def lose(verb: str, path: str, given: dict[str, Any]) -> Response:
            answer = act(verb, path, given)
            if verb == "get":
                return answer
            self.clock.advance(taken)
            raise DeadlineExceeded("no answer")

        self.api._act = lose  # type: ignore[method-assign] # the answer is what gets lost
        self.try_it(who)
        self.api._act = act  # type: ignore[method-assign]

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        """All of them do nothing for a while: suspended, starved, or asleep."""
        self.clock.advance(seconds)

    @rule(who=WHO)
    def stop(self, who: str) -> None:
        """In order: nothing is written any more, and then the lease is released."""
        self.candidates[who].stop_leading()
        self.candidates[who].release()

    @rule(change=st.sampled_from(["delete", "empty", "give to a"]))
    def be_spoilt(self, change: str) -> None:
        """Somebody edits a lease that all have just looked at."""
        for candidate in self.candidates.values() if PATH in self.api.paths() else ():
            candidate.observe(self.api.client().get("foo", namespace="demo"))
        self.api.put(PATH, holderIdentity="a" if change == "give to a" else "", leaseDurationSeconds=15)
        if change == "delete":
            self.api.delete(PATH)

    @invariant()
    def at_most_one_may_write(self) -> None:
        """Whatever happened."""
        writers = [name for name, candidate in self.candidates.items() if candidate.seconds_to_write() > 0]
        assert len(writers) <= 1, writers


def _nothing(_verb: str) -> Response | None:
    return None


Elections.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, derandomize=True
)
TestElections = Elections.TestCase


@pytest.mark.parametrize("change", ["delete", "empty"])
@pytest.mark.parametrize("seed", range(20))
def test_a_spoilt_lease_never_has_two_writers(seed: int, change: str) -> None:
    """A leader that renews every 2 s, a standby that looks every 0.5 s, and a user, at any moment."""
    chance = random.Random(seed)
    machine = Elections()
    machine.try_it("a")
    spoilt_at = 1010.0 + chance.uniform(0.0, 2.0)
    ticks = [(1000.0 + 2.0 * n, "a") for n in range(1, 20)]
    ticks += [(1000.0 + chance.random() + 0.5 * n, "b") for n in range(80)]
    for at, who in sorted([*ticks, (spoilt_at, "")]):
        machine.clock.advance(at - machine.clock.now())
        if who:
            machine.try_it(who)
        else:
            spec = {"holderIdentity": "", "leaseDurationSeconds": 15}
            machine.api.put(PATH, **{**machine.api.spec(PATH), **spec})
            if change == "delete":
                machine.api.delete(PATH)
        machine.at_most_one_may_write()
    assert machine.api.spec(PATH)["holderIdentity"] == "a"


def test_the_model_can_fail() -> None:
    """A candidate that takes a held lease is found out: the invariant can fail."""
    machine = Elections()
    machine.try_it("a")
    machine.api.put(PATH, holderIdentity="", leaseDurationSeconds=1)  # an administrator edits it
    machine.try_it("b")
    assert [candidate.seconds_to_write() > 0 for candidate in machine.candidates.values()] == [
        True,
        True,
        False,
    ]
