"""
Renew a slot's Lease through its holder's member Lease: a replica at rest writes one Lease instead of many.

A slot is renewed in one of two ways, and its Lease shows which:

    alone     as every lease: its holder writes it each retry period
    marked    RENEWED_BY names its holder: it is held as long as that one's member Lease. The holder lists all
              Leases after each renewal of its member Lease, and relies on a mark only while the list has it.

Who may write when the holder M of a marked slot and another member N see different things:

  * M writes until the renew deadline of its last renewal of the member Lease, counted from before that was
    sent. A mark never extends this: before M sends one, it already relies on only the member Lease, so it is
    right whether the mark arrives or not. Before M renews a slot alone, it forgets the mark.
  * N takes a marked slot in exactly the version of a list that also shows that M's member Lease is over, by a
    write that any write by M prevents. It is over if N or a third member has cleared it after it was
    unchanged for its duration, by a write that any renewal by M prevents; or if it was deleted by hand, and
    has been missing for that duration. In both cases, M's last renewal was sent more than a renew deadline
    ago.
  * If M's member Lease was replaced, or renewed too late, M relies on none of its marks: it writes each
    slot's Lease before it continues, and gives up the slots whose Lease it cannot write.
  * If a slot's Lease is changed or deleted by hand, its mark ends with M's next list. If M cannot list, it
    renews its slots alone after two retry periods.

A replica with an earlier version does not know marks. It goes by a marked Lease's duration, which is 20 times
the usual one, so a mark is valid for half of that, and then written again. While such a replica lives, no
member marks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from handloop.apis.coordination_v1 import Lease, LeaseSpec
from handloop.apis.grammar.times import format_micro_time
from handloop.controller.runtime.election.candidacy import Candidacy
from handloop.controller.runtime.election.config import LeaderElectionConfig

FREE: Final = -inf
_MARKED_DURATIONS: Final = 20
_FRESH: Final = 0.75
"""How old a renewal may be for a mark, as a fraction of the patience. Lists from a slow server come late."""


class Renewal(NamedTuple):
    """Our last renewal of the member Lease before a list: the Lease's UID, and when the renewal was sent."""

    uid: str
    sent_at: float


class View(NamedTuple):
    """
    What the last lists showed.

    Fields: renewal, None if no slot may be marked; marks, by the name of a marked Lease, its version and the
    time when its member Lease expires; FREE if the member Lease is over, and cannot be renewed.
    """

    renewal: Renewal | None = None
    marks: Mapping[str, tuple[str, float]] = MappingProxyType({})


class _Mark(NamedTuple):
    """A mark that the server accepted: the slot, our member Lease at that time, and the response's time."""

    version: str
    uid: str
    written_at: float


class SlotCandidacy(Candidacy):
    """
    A candidate for a slot's Lease, which marks the Lease while it can.

    State, under _lock: _mark, None = renewed alone, or not known.
    Threads: as Candidacy; `shards` calls confirm.
    """

    def __init__(self, config: LeaderElectionConfig, view: Callable[[], View], **options: Any) -> None:
        """Args: view is called from any thread; options as in Candidacy."""
        super().__init__(config, **options)
        # Leave time for two attempts without a mark. If that is more than half the deadline, mark nothing.
        periods = 2 * config.retry_period_seconds
        self._patience = periods if periods <= config.renew_deadline_seconds / 2 else 0.0
        self._view = view
        self._mark: _Mark | None = None

    def confirm(self, renewal: Renewal, lease: Lease | None) -> None:
        """
        Rely on a renewal of our member Lease if the list after it shows our mark; otherwise forget the mark.

        Args: lease is the slot's Lease in that list. Runs on the thread `shards`.
        """
        now = self._clock.now()
        with self._lock:
            mark = self._mark
            if mark is None:
                return
            if lease is None or (lease.metadata.resource_version, renewal.uid) != (mark.version, mark.uid):
                self._mark = None
            elif now < self._renewed_at + self._config.renew_deadline_seconds and self._is_young(mark, now):
                self._renewed_at, self._observed_at = max(self._renewed_at, renewal.sent_at), now

    def is_left_marked(self) -> bool:
        """Return whether the listed Lease has our mark while no elector runs. It would then never expire."""
        return self.is_leader() and self._lease.renewed_by == self._lease.identity

    def let_expire(self) -> None:
        """Remove our mark from a slot that we do not work on."""
        self.try_acquire_or_renew(deadline=self._clock.now() + self._config.renew_deadline_seconds)

    def try_acquire_or_renew(self, *, deadline: float = inf) -> bool:
        """Like Candidacy, but mark a slot that we work on if our member Lease was just renewed."""
        now, renewal = self._clock.now(), self._view().renewal
        if renewal is not None and self.is_leading and self.is_leader():
            with self._lock:
                mark, renewed_at = self._mark, self._renewed_at
            if mark is not None and now - renewed_at < self._patience and self._is_young(mark, now):
                return True
            if now - renewal.sent_at < _FRESH * self._patience and self._write_mark(renewal, deadline):
                return True
        with self._lock:
            self._mark = None
        return super().try_acquire_or_renew(deadline=deadline)

    def _write_mark(self, renewal: Renewal, deadline: float) -> bool:
        self._deadline, now = deadline, format_micro_time(self._clock.time())
        with self._lock:
            self._mark = None
            # Do this before sending: whether the write arrives or not, others may now go by our member Lease.
            self._renewed_at = min(self._renewed_at, renewal.sent_at)
            seconds = _MARKED_DURATIONS * self._config.written_seconds
            record = replace(self._observed, lease_duration_seconds=seconds, renew_time=now)
        write = partial(self._lease.update, renewed_by=self._lease.identity)
        if not self._write(write, record, renewal.sent_at):
            return False
        with self._lock:
            self._mark = _Mark(self._lease.version, renewal.uid, self._clock.now())
        return True

    def _is_young(self, mark: _Mark, now: float) -> bool:
        """Return whether the mark need not be written again yet for replicas with an earlier version."""
        return now < mark.written_at + _MARKED_DURATIONS * self._config.lease_duration_seconds / 2

    # the marks of others

    def _observe(self, fetched: LeaseSpec) -> None:
        super()._observe(fetched)
        if (ends_at := self._ends_at()) is not None:
            with self._lock:
                # If somebody deletes it, the holder keeps the slot for a lease duration from the last look.
                self._reserved_until = self._clock.now() + marked_seconds(fetched) if ends_at > FREE else FREE

    def _free_at(self) -> float:
        ends_at = self._ends_at()
        return super()._free_at() if ends_at is None else ends_at

    def _ends_at(self) -> float | None:
        """Return when another member's mark, as last listed, ends; infinity if unknown, None if unmarked."""
        holder, lease = self._observed.holder_identity, self._lease
        if not holder or holder == lease.identity or holder != lease.renewed_by:
            return None
        version, ends_at = self._view().marks.get(lease.name, ("", inf))
        return ends_at if version == lease.version else inf


def marked_seconds(spec: LeaseSpec) -> float:
    """Return the lease duration of a marked Lease's holder."""
    return (spec.lease_duration_seconds or 0) / _MARKED_DURATIONS
