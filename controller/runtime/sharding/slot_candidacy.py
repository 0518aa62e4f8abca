"""
Renew slots' Leases through their holder's member Lease, so that an idle replica writes only one Lease.

A slot is renewed in one of two ways, and its Lease shows which:

    alone     the holder writes the slot's Lease each retry period, as for any other Lease
    marked    the annotation RENEWED_BY on the slot's Lease names the holder. The holder has the slot for as
              long as it has its member Lease. It lists all Leases after each renewal of its member Lease, and
              relies on a mark only while the list shows the mark.

Suppose that M holds a marked slot, and that N is another member. The two may see different states of the
Leases. The following rules ensure that they cannot both write in the slot:

  * M can write for one renew deadline after it sent its last renewal of the member Lease. A new mark does not
    extend that period. Before M sends a mark, M already relies only on the member Lease, so M is safe whether
    or not the server receives the mark. Before M renews a slot alone, M forgets the mark.
  * N takes a marked slot only after a list that shows the slot's Lease, and in which M's member Lease has
    ended. If the slot's Lease has changed since that list, N's write fails. A member Lease can end in two
    ways. If it stays unchanged for its duration, N or a third member clears it, with a write that fails if M
    has renewed it meanwhile. If it is deleted by hand, it ends once it has been missing for its duration. In
    both cases, M sent its last renewal more than a renew deadline ago.
  * If M's member Lease was replaced, or renewed too late, M does not rely on any of its marks. M then writes
    each slot's Lease before it continues, and gives up the slots whose Leases it cannot write.
  * If a slot's Lease is changed or deleted by hand, M's next list no longer shows the mark, and M stops
    relying on it. If M cannot list, M renews its slots alone after two retry periods.

Earlier versions of handloop do not support marks. A replica with such a version takes a slot once the slot's
Lease has not changed for the Lease's duration. A marked Lease therefore has 20 times the usual duration, and
is written again after half of it. While a replica with an earlier version is alive, no member writes marks.
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
"""Write a mark only while our renewal is younger than this part of _patience, as lists may arrive late."""


class Renewal(NamedTuple):
    """Our last renewal of our member Lease before a list: the Lease's UID, and when we sent the renewal."""

    uid: str
    sent_at: float


class View(NamedTuple):
    """
    The state of our member Lease and of all marked Leases, as the last list shows it.

    Fields: renewal is our last renewal, or None if slots must not be marked. marks maps the name of each
    marked Lease to a pair: the Lease's version, and the time when its holder's member Lease expires. That
    time is FREE once the holder can no longer renew its member Lease.
    """

    renewal: Renewal | None = None
    marks: Mapping[str, tuple[str, float]] = MappingProxyType({})


class _Mark(NamedTuple):
    """A mark that the server accepted: the Lease's version, our member Lease's UID, and when we wrote it."""

    version: str
    uid: str
    written_at: float


class SlotCandidacy(Candidacy):
    """
    A candidate for a slot's Lease. Whenever possible, it marks the Lease instead of renewing it each time.

    State, under _lock: _mark is our mark, or None if the slot is renewed alone or the mark is uncertain.
    Threads: used by the threads that use a Candidacy, and by `shards`, which calls confirm.
    """

    def __init__(self, config: LeaderElectionConfig, view: Callable[[], View], **options: Any) -> None:
        """Args: view is called from any thread; options are those of Candidacy."""
        super().__init__(config, **options)
        # Leave time to renew twice without a mark. If that exceeds half the deadline, never mark.
        periods = 2 * config.retry_period_seconds
        self._patience = periods if periods <= config.renew_deadline_seconds / 2 else 0.0
        self._view = view
        self._mark: _Mark | None = None

    def confirm(self, renewal: Renewal, lease: Lease | None) -> None:
        """
        Check whether a list still shows our mark, and forget the mark if the list does not.

        If it does, the given renewal also counts as a renewal of the slot.

        Args: renewal is the last renewal of our member Lease before the list. lease is the slot's Lease in
        the list, or None.
        Threads: runs on `shards`.
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
        """
        Return whether the slot's Lease still has our mark.

        When the slot's elector has ended, nothing else removes the mark. Until let_expire removes it, each
        renewal of our member Lease keeps the slot's Lease from expiring.
        """
        return self.is_leader() and self._lease.renewed_by == self._lease.identity

    def let_expire(self) -> None:
        """Remove our mark from the slot's Lease, so that it can expire. Call this only without an elector."""
        self.try_acquire_or_renew(deadline=self._clock.now() + self._config.renew_deadline_seconds)

    def try_acquire_or_renew(self, *, deadline: float = inf) -> bool:
        """Acquire or renew like Candidacy, but use a mark if we work on the slot and the View allows it."""
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
            # Set this before sending. Even if the write fails, others may now rely on our member Lease.
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
        """Return whether the mark is recent enough that earlier versions do not treat it as expired."""
        return now < mark.written_at + _MARKED_DURATIONS * self._config.lease_duration_seconds / 2

    # the marks of others

    def _observe(self, fetched: LeaseSpec) -> None:
        super()._observe(fetched)
        if (ends_at := self._ends_at()) is not None:
            with self._lock:
                # If the Lease is deleted by hand, the holder has the slot for a lease duration from now.
                self._reserved_until = self._clock.now() + marked_seconds(fetched) if ends_at > FREE else FREE

    def _free_at(self) -> float:
        ends_at = self._ends_at()
        return super()._free_at() if ends_at is None else ends_at

    def _ends_at(self) -> float | None:
        """
        Return when the other member that has marked this Lease loses it.

        Returns: the time, infinity if it is unknown, or None if no other member has marked the Lease.
        """
        holder, lease = self._observed.holder_identity, self._lease
        if not holder or holder == lease.identity or holder != lease.renewed_by:
            return None
        version, ends_at = self._view().marks.get(lease.name, ("", inf))
        return ends_at if version == lease.version else inf


def marked_seconds(spec: LeaseSpec) -> float:
    """Return the real duration of a marked Lease, whose spec contains _MARKED_DURATIONS times as much."""
    return (spec.lease_duration_seconds or 0) / _MARKED_DURATIONS
