"""
Track the replicas that share the work. Each is a member with its own Lease, and one list returns all Leases.

A member counts as dead once its Lease has not changed for the Lease's duration, by our clock. Leader election
uses the same rule. The wall clocks of two machines are never compared.

If two members have different settings, the younger one refuses to start. So that it can notice the other one,
a member first creates its own Lease, lists the Leases again two seconds later, and only then joins.

A member's Lease also renews the slots that the member has marked (slot_candidacy.py). Before other members
take a dead member's marked slot, they clear that member's Lease, so that the member cannot renew it.

The members also hold the Lease of leader election together, under one identity, until the last of them has
shut down its work. Meanwhile, no process that runs with --leader-elect, from an earlier or later rollout, can
become the leader. The name of this Lease is the prefix of the other Leases' names. This Lease is renewed less
often than a slot's Lease and lasts twice as long. Even if all members are suspended at the same time, the
Leases of their slots therefore expire before it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Final, NamedTuple

import msgspec

from handloop.apis.coordination_v1 import Lease, LeaseSpec
from handloop.apis.meta import EMPTY_MAP, FrozenMap
from handloop.client.errors import ClientError, Conflict, NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.election.candidacy import RELEASED_SECONDS, Candidacy
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.election.election_metrics import ElectionReports
from handloop.controller.runtime.election.lease_lock import RENEWED_BY, LeaseLock
from handloop.controller.runtime.sharding.shards import Shards
from handloop.controller.runtime.sharding.slot_candidacy import FREE, Renewal, View, marked_seconds
from handloop.seams.clock import Clock
from handloop.seams.logs import get_logger

log = get_logger("shards")

GROUP_LABEL: Final = "handloop.dev/shards"
"""The label on each Lease of a slot or member. Its value is the common prefix of the Leases' names."""
SETTINGS_LABEL: Final = "handloop.dev/slots"
"""The label on the same Leases with the last holder's settings, Shards.count and by: `16-namespace`."""
MARKS_LABEL: Final = "handloop.dev/marks-slots"
"""The label on the Lease of a member that supports marks. Earlier versions do not set it."""

_JOIN_SECONDS: Final = 2.0
"""The wait before joining. It must exceed one second, the precision of the Leases' creationTimestamp."""
_PROOF_PERIODS: Final = 3
"""For this many retry periods, a member counts as alive even if we have not seen its Lease change."""
_STALE_DURATIONS: Final = 10
_MIN_REQUEST_SECONDS: Final = 1.0


class ShardMismatchError(Exception):
    """A replica of the same program uses other shard settings, so two replicas could reconcile one object."""

    def __init__(self, group: str, holder: str, theirs: str, ours: Shards) -> None:
        count, _, by = theirs.partition("-")
        super().__init__(
            f"shards: the replica {holder} has {count} slots by {by}, but this one has {ours}: all replicas "
            f"of {group} need the same. To change it, stop all of them before the first new one starts: "
            "kubectl scale --replicas=0, or strategy: Recreate in the Deployment"
        )


class _Seen(NamedTuple):
    """
    A Lease from the last list.

    Fields: since is when we first saw its current spec. changed is true if we have ever seen its spec change.
    """

    lease: Lease
    since: float
    changed: bool

    def expires_at(self) -> float:
        """Return when the Lease expires, or -inf if the Lease has no holder."""
        spec = self.lease.spec
        return self.since + (spec.lease_duration_seconds or 0) if spec.holder_identity else -inf

    def is_over(self, now: float) -> bool:
        """Return whether the Lease has a holder but has expired."""
        return -inf < self.expires_at() <= now

    @property
    def version(self) -> str:
        """The Lease's resource version."""
        return self.lease.metadata.resource_version

    @property
    def is_cleared(self) -> bool:
        """Return whether the Lease was released or cleared, which sets its duration to RELEASED_SECONDS."""
        spec = self.lease.spec
        return not spec.holder_identity and spec.lease_duration_seconds == RELEASED_SECONDS

    @property
    def marked_by(self) -> str:
        """Return the Lease's holder if the holder has marked the Lease, otherwise ""."""
        holder = self.lease.spec.holder_identity or ""
        return holder if holder == self.lease.metadata.annotations.get(RENEWED_BY) else ""


class Members:
    """
    Renews this replica's member Lease, and tracks the Leases of the other members and of the slots.

    State: joined is true while this replica may hold slots, because all living members have its settings and
    no leader is running. _own is the candidate for our member Lease, and _leaders is the candidate for the
    Lease of leader election. _begun_at is when our member Lease was created, or None. _seen maps each Lease's
    name to the Lease in the last list. _alone is about marked Leases whose holder has no member Lease: it
    maps the resource version of each to the time when we first saw it without one. view is replaced as a
    whole.
    Threads: `shards` calls the methods; any thread can read view.
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
        self._own_name = self._member_name(identity)
        self._slot_names = tuple(f"{terms.name}-slot-{n}-of-{shards.count}" for n in range(shards.count))
        self._seconds = max(terms.renew_deadline_seconds / 2, _MIN_REQUEST_SECONDS)
        self._leases = leases.within(self._seconds)
        self._identity = identity
        self._clock = clock
        self._own_lock = self._lock(self._own_name, identity, {MARKS_LABEL: "true"})
        own = terms.config(self._own_lock, of_many=True)
        self._own_seconds = own.written_seconds
        self._own = Candidacy(own, clock=clock, metrics=metrics)
        lock = self._lock(terms.name, f"all replicas of {self.group} with shards")
        everyone = replace(
            terms.config(lock, of_many=True), lease_duration_seconds=2 * terms.lease_duration_seconds
        )
        self._leaders = Candidacy(everyone, clock=clock, metrics=metrics)
        self.joined = False
        self._begun_at: float | None = None
        self._seen: dict[str, _Seen] = {}
        self._alone: dict[str, float] = {}
        self.view = View()

    @property
    def group(self) -> str:
        """The `namespace/name` of the Lease that all replicas of the program have in common."""
        return f"{self._terms.namespace}/{self._terms.name}"

    def slot_config(self, slot: int) -> LeaderElectionConfig:
        """Return the configuration with which an elector acquires and renews a slot's Lease."""
        return self._terms.config(self._lock(self._slot_names[slot], self._identity), of_many=True)

    @property
    def leader(self) -> str:
        """Return the leader that runs with --leader-elect instead of shards, or "" if there is none."""
        return self._leaders.get_leader() if self._leaders.held_by_another() else ""

    def _lock(self, name: str, identity: str, labels: Mapping[str, str] = EMPTY_MAP) -> LeaseLock:
        return LeaseLock(
            self._leases,
            namespace=self._terms.namespace,
            name=name,
            identity=identity,
            labels=FrozenMap({GROUP_LABEL: self._terms.name, SETTINGS_LABEL: self._settings, **labels}),
        )

    def turn(self) -> str:
        """
        Renew our Lease, and list all Leases.

        If our Lease was not renewed in time, the other members treat us as dead, and we must join again.

        Returns: why our Lease could not be renewed, or "" if it was renewed.
        Raises: ClientError if the Leases could not be listed; ShardMismatchError if a replica has other
        settings.
        Blocks: for at most the renew deadline.
        """
        ends_at = self._clock.now() + self._terms.renew_deadline_seconds
        if self._begun_at is not None and self._clock.now() >= self._own_ends_at():
            self._begun_at, self.joined = None, False
        if self._renew():
            self._clear_the_dead()
        try:
            self._look()
        finally:
            # Renew this Lease even if the list failed, because the electors may still be renewing slots.
            self._keep_leaders_out(ends_at)
            self.joined = self.joined and not self.leader
        self.view = self.view._replace(renewal=self._renewal())
        if self.leader or self.joined or self._begun_at is None or not self._may_join(self._begun_at):
            return self._own.statistics().last_error
        self.joined = self._leaders.is_leader()
        return (self._own if self.joined else self._leaders).statistics().last_error

    def leave(self) -> None:
        """Delete our Lease, so that others request our slots. An error is logged; the Lease then expires."""
        self.joined, self.view = False, View()
        try:
            self._delete(self._own_name)
        except NotFound:
            pass
        except ClientError as error:
            log.info("Our member Lease stays until it expires", lease=self._own_name, err=str(error))

    def work_goes_on(self) -> None:
        """
        Renew the Lease of leader election while our work is shutting down.

        Blocks: for at most the renew deadline.
        """
        ends_at = self._clock.now() + self._terms.renew_deadline_seconds
        with suppress(ClientError):
            self._look()
        self._keep_leaders_out(ends_at)

    def work_has_ended(self) -> None:
        """Release the Lease of leader election if no other Lease is held. If the list fails, keep it."""
        with suppress(ClientError):
            self._look()
            now, others = self._clock.now(), (name for name in self._seen if name != self._terms.name)
            if all(self._ends_at(self._seen[name]) <= now for name in others):
                self._leaders.release()

    def living(self) -> tuple[str, ...]:
        """Return the members with our settings, including us, oldest first."""
        holders = [lease.spec.holder_identity or "" for lease in sorted(self._living(), key=_age)]
        return tuple(dict.fromkeys([*holders, self._identity]))

    def _living(self) -> list[Lease]:
        now = self._clock.now()
        unproven = _PROOF_PERIODS * self._terms.retry_period_seconds
        return [
            seen.lease
            for name, seen in self._seen.items()
            if self._is_member(name) and self._is_like_us(seen.lease)
            if seen.expires_at() > now and (seen.changed or seen.since + unproven > now)
        ]

    def slot_leases(self) -> dict[int, Lease]:
        """Return the Lease of each slot in the last list."""
        return {slot: seen.lease for slot, seen in self._seen_slots()}

    def holders(self) -> dict[int, str]:
        """Return the holder of each slot whose Lease has not expired."""
        now = self._clock.now()
        return {
            slot: seen.lease.spec.holder_identity or ""
            for slot, seen in self._seen_slots()
            if self._ends_at(seen) > now
        }

    def _seen_slots(self) -> Iterator[tuple[int, _Seen]]:
        return ((n, self._seen[name]) for n, name in enumerate(self._slot_names) if name in self._seen)

    def next_change(self) -> float:
        """Return the earliest time at which a Lease can expire or we can join, or infinity."""
        now = self._clock.now()
        may_join_at = inf if self.joined or self._begun_at is None else self._begun_at + _JOIN_SECONDS
        changes = (may_join_at, *map(self._ends_at, self._seen.values()))
        return min((at for at in changes if at > now), default=inf)

    # one turn

    def _renew(self) -> bool:
        if self._begun_at is None:
            # A replica that joins must be the youngest member, so it needs a new Lease.
            with suppress(NotFound):
                self._delete(self._own_name)
        deadline, own_ends_at = self._clock.now() + self._seconds, self._own_ends_at()
        if not self._own.try_acquire_or_renew(deadline=deadline):
            return False
        now = self._clock.now()
        if self._begun_at is None:
            self._begun_at = now
        elif now >= own_ends_at:
            self._begun_at, self.joined = None, False
        return True

    def _own_sent_at(self) -> float:
        return self._own.renew_deadline() - self._terms.renew_deadline_seconds

    def _own_ends_at(self) -> float:
        """Return when the other members can treat us as dead unless we renew our Lease again."""
        return self._own_sent_at() + self._own_seconds

    def _clear_the_dead(self) -> None:
        """Clear the Leases of dead members. If a member has renewed its Lease meanwhile, the write fails."""
        cleared = LeaseSpec(holder_identity="", lease_duration_seconds=RELEASED_SECONDS)
        others = ((name, seen) for name, seen in self._seen.items() if name != self._own_name)
        dead = [
            seen.lease for name, seen in others if self._is_member(name) and seen.is_over(self._clock.now())
        ]
        with suppress(ClientError):
            for lease in dead:
                with suppress(Conflict, NotFound):
                    self._leases.update(msgspec.structs.replace(lease, spec=cleared))

    def _renewal(self) -> Renewal | None:
        """
        Return the last renewal of our member Lease, which also renews the slots that have our mark.

        Returns: the renewal. It is None if the last list does not reflect the renewal yet, if we have not
        joined, or if a living member does not support marks.
        """
        own, knows = (
            self._seen.get(self._own_name),
            (MARKS_LABEL in each.metadata.labels for each in self._living()),
        )
        if own is None or own.version != self._own_lock.version or not self.joined or not all(knows):
            return None
        return Renewal(own.lease.metadata.uid, self._own_sent_at())

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
        marked = [seen for seen in self._seen.values() if seen.marked_by]
        alone = [seen.version for seen in marked if self._member_of(seen) is None]
        self._alone = {version: self._alone.get(version, now) for version in alone}
        marks = {seen.lease.metadata.name: (seen.version, self._mark_ends_at(seen)) for seen in marked}
        self.view = self.view._replace(marks=marks)
        self._clean_up(now)

    def _member_of(self, slot: _Seen) -> _Seen | None:
        """Return the member Lease that renews a marked slot, or None. A cleared one is also returned."""
        found = self._seen.get(self._member_name(slot.marked_by))
        return found if found is not None and (found.lease.spec.holder_identity or found.is_cleared) else None

    def _ends_at(self, seen: _Seen) -> float:
        """Return when a holder loses a Lease, marked or not, or -inf if the Lease has no holder."""
        if not seen.marked_by:
            return seen.expires_at()
        member = self._member_of(seen)
        if member is not None:
            return member.expires_at()
        return self._alone[seen.version] + marked_seconds(seen.lease.spec)

    def _mark_ends_at(self, slot: _Seen) -> float:
        """Return when a marked slot's holder loses the slot, or FREE once it can no longer renew the slot."""
        ends_at = self._ends_at(slot)  # FREE for a member Lease that was cleared
        return FREE if self._member_of(slot) is None and ends_at <= self._clock.now() else ends_at

    def _keep_leaders_out(self, ends_at: float) -> None:
        """
        Acquire the Lease of leader election, or renew it if that is due.

        The oldest member renews it first. The others do so only if the oldest member is late.
        """
        seen = self._seen.get(self._terms.name)
        if seen is not None:
            self._leaders.observe(seen.lease)
        age = inf if seen is None else self._clock.now() - seen.since
        thirds = 1 if self.living()[0] == self._identity else 2
        if not self._leaders.is_leader() or age >= self._terms.lease_duration_seconds * thirds / 3:
            self._leaders.try_acquire_or_renew(deadline=ends_at)

    def _clean_up(self, now: float) -> None:
        """Delete one unneeded Lease: that of a dead member, or of a slot from a different slot count."""
        ours = {self._own_name, self._terms.name, *self._slot_names}
        for name, seen in self._seen.items():
            is_stale = now - seen.since > _STALE_DURATIONS * self._terms.lease_duration_seconds
            if name not in ours and is_stale and self._ends_at(seen) <= now:
                # An error means that another replica was faster or the holder has returned.
                with suppress(ClientError):
                    self._delete(name, seen.lease.metadata.resource_version)
                return

    def _delete(self, name: str, resource_version: str | None = None) -> None:
        self._leases.delete(name, namespace=self._terms.namespace, resource_version=resource_version)

    # joining

    def _may_join(self, begun_at: float) -> bool:
        """
        Return whether we can be sure that no replica with different settings is alive.

        If a Lease with different settings has not changed since we first saw it, its holder may be dead. We
        then wait until the Lease expires.

        Raises: ShardMismatchError if a Lease with different settings has changed.
        """
        own, now = self._seen.get(self._own_name), self._clock.now()
        if own is None or now < begun_at + _JOIN_SECONDS:
            return False
        others = [
            seen
            for name, seen in self._seen.items()
            if self._ends_at(seen) > now
            and name != self._terms.name
            and not self._is_like_us(seen.lease)
            and not (self._is_member(name) and _age(own.lease) < _age(seen.lease))
        ]
        for seen in others:
            if seen.changed:
                theirs, holder = seen.lease.metadata.labels[SETTINGS_LABEL], seen.lease.spec.holder_identity
                raise ShardMismatchError(self.group, holder or "", theirs, self._shards)
        return not others

    def _member_name(self, identity: str) -> str:
        return self._members_begin + identity.rpartition("_")[2]

    def _is_member(self, name: str) -> bool:
        return name.startswith(self._members_begin)

    def _is_like_us(self, lease: Lease) -> bool:
        return lease.metadata.labels.get(SETTINGS_LABEL, self._settings) == self._settings


def _age(lease: Lease) -> tuple[str, str]:
    """Return a key that sorts Leases, oldest first. The server writes all times in one format."""
    return lease.metadata.creation_timestamp or "", lease.metadata.name
