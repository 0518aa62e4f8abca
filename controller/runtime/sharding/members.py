"""
The replicas that share the work: each has a member Lease, and all see them in one list.

A member lives as a leader does: until its Lease has been unchanged for its own duration, as our clock counts.
Wall clocks of two machines are never compared. Of two members with different settings the younger refuses: it
joins only after a look at the Leases that is later than its own by more than a creationTimestamp can hide.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from typing import Final, NamedTuple

from handloop.apis.coordination_v1 import Lease, LeaseSpec
from handloop.apis.meta import FrozenMap, format_micro_time
from handloop.client.errors import ClientError, Conflict, NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.election.election import LeaseTerms
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

    State: joined, whether our settings have been compared with those of all that live; _own, the lock on our
    member Lease; _begun_at, when it was created, None before; _renewed_at, when its last renewal began;
    _seen, the Leases of the last list by name.
    Threads: `shards` only.
    """

    def __init__(
        self, shards: Shards, terms: LeaseTerms, leases: ResourceClient[Lease], identity: str, clock: Clock
    ) -> None:
        self._shards = shards
        self._terms = terms
        self._settings = f"{shards.count}-{shards.by}"
        self.labels = FrozenMap({GROUP_LABEL: terms.name, SETTINGS_LABEL: self._settings})
        self._members_begin = f"{terms.name}-member-"
        self._seconds = max(terms.renew_deadline_seconds / 2, _MIN_REQUEST_SECONDS)
        self._leases = leases.within(self._seconds)
        self._identity = identity
        self._clock = clock
        self.joined = False
        self._own = LeaseLock(
            leases,
            namespace=terms.namespace,
            name=self._members_begin + identity.rpartition("_")[2],
            identity=identity,
            labels=self.labels,
        )
        self._begun_at: float | None = None
        self._renewed_at = -inf
        self._seen: dict[str, _Seen] = {}

    @property
    def group(self) -> str:
        """`namespace/name` of all that share the work."""
        return f"{self._terms.namespace}/{self._terms.name}"

    def slot_name(self, slot: int) -> str:
        """The name of a slot's Lease."""
        return f"{self._terms.name}-slot-{slot}-of-{self._shards.count}"

    def turn(self) -> None:
        """
        Renew our Lease, and look at all.

        A Lease that we could not renew in its time counts as gone for the others: then we join anew.

        Raises: ClientError when the server does not answer, and nothing is known; ShardMismatchError.
        Blocks: two requests.
        """
        if self._begun_at is not None and self._clock.now() >= self._renewed_at + self._written_seconds:
            self._begun_at, self.joined = None, False
        self._renew()
        self._look()
        if not self.joined and self._begun_at is not None:
            self.joined = self._may_join(self._begun_at)

    def leave(self) -> None:
        """Delete our Lease: the others get ready for our slots. Errors are told: it then expires."""
        self.joined = False
        try:
            self._delete(self._own.name)
        except ClientError as error:
            log.info("Our member Lease stays until it expires", lease=self._own.describe(), err=str(error))

    def living(self) -> tuple[str, ...]:
        """The members with our settings, we among them, the oldest first."""
        now = self._clock.now()
        leases = [
            seen.lease
            for name, seen in self._seen.items()
            if self._is_member(name) and seen.expires_at() > now and self._is_like_us(seen.lease)
        ]
        holders = [lease.spec.holder_identity or "" for lease in sorted(leases, key=_age)]
        return tuple(dict.fromkeys([*holders, self._identity]))

    def slot_leases(self) -> dict[int, Lease]:
        """The Leases of the slots, as last listed."""
        names = {slot: self.slot_name(slot) for slot in range(self._shards.count)}
        return {slot: self._seen[name].lease for slot, name in names.items() if name in self._seen}

    def holders(self) -> dict[int, str]:
        """Who holds which slot, by Leases that have not expired."""
        now = self._clock.now()
        return {
            slot: lease.spec.holder_identity or ""
            for slot, lease in self.slot_leases().items()
            if self._seen[lease.metadata.name].expires_at() > now
        }

    def next_expiry(self) -> float:
        """When the next Lease expires if it does not change, as the clock counts; infinity = none will."""
        now = self._clock.now()
        return min((at for seen in self._seen.values() if (at := seen.expires_at()) > now), default=inf)

    # one turn

    @property
    def _written_seconds(self) -> int:
        return int(self._terms.lease_duration_seconds)

    def _renew(self) -> None:
        started_at = self._clock.now()
        now = format_micro_time(self._clock.time())
        spec = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=self._written_seconds,
            acquire_time=now,
            renew_time=now,
        )
        if self._begun_at is None:
            with suppress(NotFound):
                self._delete(self._own.name)
            self._create(spec)
        else:
            try:
                self._own.update(spec, self._seconds)
            except NotFound:
                self._create(spec)
            except Conflict:
                self._own.get(self._seconds)
                self._own.update(spec, self._seconds)
        self._renewed_at = started_at

    def _create(self, spec: LeaseSpec) -> None:
        self._own.create(spec, self._seconds)
        if self._begun_at is None:
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

    def _clean_up(self, now: float) -> None:
        """Delete one Lease that nobody needs: a dead member's, or a slot's of another count."""
        ours = {self._own.name, *map(self.slot_name, range(self._shards.count))}
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
        own, now = self._seen.get(self._own.name), self._clock.now()
        if own is None or now < begun_at + _JOIN_SECONDS:
            return False
        others = [
            seen
            for name, seen in self._seen.items()
            if seen.expires_at() > now
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
