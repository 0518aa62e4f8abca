"""
The replicas that share the work: each has a member Lease, and all see them in one list.

A member lives as a leader does: until its Lease has been unchanged for its own duration, as our clock counts.
Wall clocks of two machines are never compared. Of two members with different settings the younger refuses: it
joins only after a look at the Leases that is later than its own by more than a creationTimestamp can hide.

The Lease of leader election, whose name is what the others begin with, is held by all members together, until
the work of the last of them has ended. So a process that works with --leader-elect, of an earlier rollout or
a later one, and these exclude each other. It is renewed more rarely than a slot's Lease, and so lasts twice
as long: a slot's is lost before, also if all members are suspended at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Final, NamedTuple

from handloop.apis.coordination_v1 import Lease
from handloop.apis.meta import FrozenMap
from handloop.client.errors import ClientError, NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.election.candidacy import Candidacy
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.election.election_metrics import ElectionReports
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.sharding.shards import Shards
from handloop.seams.clock import Clock
from handloop.seams.logs import get_logger

log = get_logger("shards")

GROUP_LABEL: Final = "handloop.dev/shards"
"""On each Lease of slots and members: the name that all of them begin with."""
SETTINGS_LABEL: Final = "handloop.dev/slots"
"""On the same: count and by of its last holder, such as `16-namespace`."""

_JOIN_SECONDS: Final = 2.0
"""creationTimestamp counts whole seconds: of two that do not see each other by then, one is the older."""
_PROOF_PERIODS: Final = 3
"""A Lease that we have not seen change counts as a living member's for so many retry periods."""
_STALE_DURATIONS: Final = 10
_MIN_REQUEST_SECONDS: Final = 1.0


class ShardMismatchError(Exception):
    """Another replica splits the same work differently, so that two would write for one object."""

    def __init__(self, group: str, holder: str, theirs: str, ours: Shards) -> None:
        count, _, by = theirs.partition("-")
        super().__init__(
            f"shards: the replica {holder} has {count} slots by {by}, this one {ours}: all replicas of "
            f"{group} need the same. To change it, stop all of them before the first new one starts: kubectl "
            "scale --replicas=0, or strategy: Recreate in the Deployment"
        )


class _Seen(NamedTuple):
    """A Lease as last listed, since when its spec is that, and whether we have seen it change."""

    lease: Lease
    since: float
    changed: bool

    def expires_at(self) -> float:
        """When its holder has had its time; -inf without a holder."""
        spec = self.lease.spec
        return self.since + (spec.lease_duration_seconds or 0) if spec.holder_identity else -inf


class Members:
    """
    Our own membership, and what we see of the others' Leases.

    State: joined, whether our settings have been compared with those of all that live, and no leader is at
    work; _own keeps our member Lease, and _leaders that of leader election; _begun_at, when ours was created,
    None before; _seen, the Leases of the last list by name.
    Threads: `shards` only.
    """

    def __init__(
        self,
        shards: Shards,
        terms: LeaseTerms,
        leases: ResourceClient[Lease],
        identity: str,
        *,
        metrics: ElectionReports,
        clock: Clock,
    ) -> None:
        self._shards = shards
        self._terms = terms
        self._settings = f"{shards.count}-{shards.by}"
        self._members_begin = f"{terms.name}-member-"
        self._own_name = self._members_begin + identity.rpartition("_")[2]
        self._slot_names = tuple(f"{terms.name}-slot-{n}-of-{shards.count}" for n in range(shards.count))
        self._seconds = max(terms.renew_deadline_seconds / 2, _MIN_REQUEST_SECONDS)
        self._leases = leases.within(self._seconds)
        self._identity = identity
        self._clock = clock
        self._own = Candidacy(self._config(self._own_name), clock=clock, metrics=metrics)
        everyone = self._config(terms.name, f"all replicas of {self.group} with shards")
        everyone = replace(everyone, lease_duration_seconds=2 * terms.lease_duration_seconds)
        self._leaders = Candidacy(everyone, clock=clock, metrics=metrics)
        self.joined = False
        self._begun_at: float | None = None
        self._seen: dict[str, _Seen] = {}

    @property
    def group(self) -> str:
        """`namespace/name` of all that share the work."""
        return f"{self._terms.namespace}/{self._terms.name}"

    def slot_config(self, slot: int) -> LeaderElectionConfig:
        """How a slot's Lease is kept."""
        return self._config(self._slot_names[slot])

    @property
    def leader(self) -> str:
        """The process that works by leader election, under the Lease of our name; "" = none is seen."""
        return self._leaders.get_leader() if self._leaders.held_by_another() else ""

    def _config(self, name: str, identity: str = "") -> LeaderElectionConfig:
        lock = LeaseLock(
            self._leases,
            namespace=self._terms.namespace,
            name=name,
            identity=identity or self._identity,
            labels=FrozenMap({GROUP_LABEL: self._terms.name, SETTINGS_LABEL: self._settings}),
        )
        return self._terms.config(lock, of_many=True)

    def turn(self) -> str:
        """
        Renew our Lease, and look at all.

        A Lease that we could not renew in its time counts as gone for the others: then we join anew.

        Returns: why our Lease could not be renewed, "" = it was.
        Raises: ClientError if the Leases could not be listed, and nothing is known; ShardMismatchError.
        Blocks: at most the renew deadline.
        """
        ends_at = self._clock.now() + self._terms.renew_deadline_seconds
        if self._begun_at is not None and self._own.statistics().expires_in_seconds <= 0:
            self._begun_at, self.joined = None, False
        self._renew()
        try:
            self._look()
        finally:
            # without a list, too: the electors may still reach the server, and renew the Leases of slots
            self._keep_leaders_out(ends_at)
            self.joined = self.joined and not self.leader
        if self.leader or self.joined or self._begun_at is None or not self._may_join(self._begun_at):
            return self._own.statistics().last_error
        self.joined = self._leaders.is_leader()
        return (self._own if self.joined else self._leaders).statistics().last_error

    def leave(self) -> None:
        """Delete our Lease: the others get ready for our slots. Errors are told: it then expires."""
        self.joined = False
        try:
            self._delete(self._own_name)
        except NotFound:
            pass
        except ClientError as error:
            log.info("Our member Lease stays until it expires", lease=self._own_name, err=str(error))

    def work_goes_on(self) -> None:
        """After leave, while our work ends: keep leaders out. Blocks: at most the renew deadline."""
        ends_at = self._clock.now() + self._terms.renew_deadline_seconds
        with suppress(ClientError):
            self._look()
        self._keep_leaders_out(ends_at)

    def work_has_ended(self) -> None:
        """After leave: let leaders in, if nobody else has a Lease. Else, and after an error, they wait."""
        with suppress(ClientError):
            self._look()
            now, others = self._clock.now(), (name for name in self._seen if name != self._terms.name)
            if all(self._seen[name].expires_at() <= now for name in others):
                self._leaders.release()

    def living(self) -> tuple[str, ...]:
        """The members with our settings, we among them, the oldest first."""
        now = self._clock.now()
        unproven = _PROOF_PERIODS * self._terms.retry_period_seconds
        leases = [
            seen.lease
            for name, seen in self._seen.items()
            if self._is_member(name) and self._is_like_us(seen.lease)
            if seen.expires_at() > now and (seen.changed or seen.since + unproven > now)
        ]
        holders = [lease.spec.holder_identity or "" for lease in sorted(leases, key=_age)]
        return tuple(dict.fromkeys([*holders, self._identity]))

    def slot_leases(self) -> dict[int, Lease]:
        """The Leases of the slots, as last listed."""
        return {slot: seen.lease for slot, seen in self._seen_slots()}

    def holders(self) -> dict[int, str]:
        """Who holds which slot, by Leases that have not expired."""
        now = self._clock.now()
        return {
            slot: seen.lease.spec.holder_identity or ""
            for slot, seen in self._seen_slots()
            if seen.expires_at() > now
        }

    def _seen_slots(self) -> Iterator[tuple[int, _Seen]]:
        return ((n, self._seen[name]) for n, name in enumerate(self._slot_names) if name in self._seen)

    def next_change(self) -> float:
        """When the next Lease expires if it stays as it is, or we may join; infinity = nothing is to come."""
        now = self._clock.now()
        may_join_at = inf if self.joined or self._begun_at is None else self._begun_at + _JOIN_SECONDS
        changes = (may_join_at, *(seen.expires_at() for seen in self._seen.values()))
        return min((at for at in changes if at > now), default=inf)

    # one turn

    def _renew(self) -> None:
        if self._begun_at is None:
            # one that begins is the youngest
            with suppress(NotFound):
                self._delete(self._own_name)
        deadline = self._clock.now() + self._seconds
        if self._own.try_acquire_or_renew(deadline=deadline) and self._begun_at is None:
            self._begun_at = self._clock.now()

    def _look(self) -> None:
        page = self._leases.list(
            self._terms.namespace, options=ListOptions(label_selector=f"{GROUP_LABEL}={self._terms.name}")
        )
        now, before = self._clock.now(), self._seen
        self._seen = {}
        for lease in page.items:
            last = before.get(lease.metadata.name)
            same = last is not None and last.lease.spec == lease.spec
            since = last.since if last is not None and same else now
            changed = last is not None and (last.changed or not same)
            self._seen[lease.metadata.name] = _Seen(lease, since, changed)
        self._clean_up(now)

    def _keep_leaders_out(self, ends_at: float) -> None:
        """Take the Lease of leader election; the oldest renews it after a third of its time, others later."""
        seen = self._seen.get(self._terms.name)
        if seen is not None:
            self._leaders.observe(seen.lease)
        age = inf if seen is None else self._clock.now() - seen.since
        thirds = 1 if self.living()[0] == self._identity else 2
        if not self._leaders.is_leader() or age >= self._terms.lease_duration_seconds * thirds / 3:
            self._leaders.try_acquire_or_renew(deadline=ends_at)

    def _clean_up(self, now: float) -> None:
        """Delete one Lease that nobody needs: a dead member's, or a slot's of another count."""
        ours = {self._own_name, self._terms.name, *self._slot_names}
        for name, seen in self._seen.items():
            if name not in ours and now - seen.since > _STALE_DURATIONS * self._terms.lease_duration_seconds:
                # whoever is quicker, or a holder that is back, is right
                with suppress(ClientError):
                    self._delete(name, seen.lease.metadata.resource_version)
                return

    def _delete(self, name: str, resource_version: str | None = None) -> None:
        self._leases.delete(name, namespace=self._terms.namespace, resource_version=resource_version)

    # joining

    def _may_join(self, begun_at: float) -> bool:
        """
        Whether nobody who splits the work otherwise can be alive.

        A Lease that we have not seen change may be a dead one's: it has its time.

        Raises: ShardMismatchError for one that we have seen change.
        """
        own, now = self._seen.get(self._own_name), self._clock.now()
        if own is None or now < begun_at + _JOIN_SECONDS:
            return False
        others = [
            seen
            for name, seen in self._seen.items()
            if seen.expires_at() > now
            and name != self._terms.name
            and not self._is_like_us(seen.lease)
            and not (self._is_member(name) and _age(own.lease) < _age(seen.lease))
        ]
        for seen in others:
            if seen.changed:
                theirs, holder = seen.lease.metadata.labels[SETTINGS_LABEL], seen.lease.spec.holder_identity
                raise ShardMismatchError(self.group, holder or "", theirs, self._shards)
        return not others

    def _is_member(self, name: str) -> bool:
        return name.startswith(self._members_begin)

    def _is_like_us(self, lease: Lease) -> bool:
        return lease.metadata.labels.get(SETTINGS_LABEL, self._settings) == self._settings


def _age(lease: Lease) -> tuple[str, str]:
    """Sorts Leases, the oldest first. The times are the server's, and spelled alike."""
    return lease.metadata.creation_timestamp or "", lease.metadata.name
