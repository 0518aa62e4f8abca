"""
Renew slots' Leases through their holder's member Lease, so that an idle replica writes only one Lease.

A slot is renewed in one of two ways, and its Lease shows which:

    alone     the holder writes the slot's Lease each retry period, as for any other Lease
    marked    RENEWED_BY names the holder, and the slot is held for as long as the holder's member Lease. The
              holder lists all Leases after each renewal of its member Lease, and relies on a mark only while
              the list shows the mark.

The following rules decide who can write if the holder M of a marked slot and another member N see different
states:

  * M can write for one renew deadline after it sent its last renewal of the member Lease. A mark never
    extends this time. Before M sends a mark, M already relies only on the member Lease, so it does not matter
    whether the mark arrives. Before M renews a slot alone, M forgets the mark.
  * N takes a marked slot only if a list shows both the slot's Lease and that M's member Lease has ended. N's
    write then fails if the slot's Lease has changed since that list. A member Lease can end in two ways. It
    can stay unchanged for its duration, and then be cleared by N or a third member, with a write that fails
    if M has renewed it. Or it can be deleted by hand, and then be missing for its duration. In both cases, M
    sent its last renewal more than a renew deadline ago.
  * If M's member Lease was replaced, or renewed too late, M does not rely on any of its marks: it writes each
    slot's Lease before it continues, and gives up the slots whose Leases it cannot write.
  * If a slot's Lease is changed or deleted by hand, its mark ends with M's next list. If M cannot list, it
    renews its slots alone after two retry periods.

A replica with an earlier version does not support marks. It waits for a marked Lease's duration, which is 20
times the usual one. A mark is therefore valid for half of that duration, and is then written again. While a
replica with an earlier version is alive, no member writes marks.
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
"""Write a mark only while our renewal is younger than this part of _patience, as lists can arrive late."""


class Renewal(NamedTuple):
    """Our last renewal of our member Lease before a list: the Lease's UID, and when we sent the renewal."""

    uid: str
    sent_at: float


class View(NamedTuple):
    """
    The state of the member Lease and of marked Leases in the last lists.

    Fields: renewal is our last renewal, or None if slots must not be marked. marks maps the name of each
    marked Lease to its version, and to the time when its holder's member Lease expires. The time is FREE once
    the holder can no longer renew its member Lease.
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
    A candidate for a slot's Lease, which renews the Lease through a mark whenever possible.

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
        Count a renewal of our member Lease as a renewal of the slot if the next list shows our mark.

        If that list does not show our mark, forget the mark.

        Args: lease is the slot's Lease in that list, or None.
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
        Return whether the slot's Lease has our mark.

        Without an elector for the slot, nobody removes the mark. The slot's Lease then cannot expire while we
        renew our member Lease.
        """
        return self.is_leader() and self._lease.renewed_by == self._lease.identity

    def let_expire(self) -> None:
        """Remove our mark from the Lease of a slot on which we do not work."""
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
        """Return when another member's mark ends (infinity if unknown), or None if there is no such mark."""
        holder, lease = self._observed.holder_identity, self._lease
        if not holder or holder == lease.identity or holder != lease.renewed_by:
            return None
        version, ends_at = self._view().marks.get(lease.name, ("", inf))
        return ends_at if version == lease.version else inf


def marked_seconds(spec: LeaseSpec) -> float:
    """Return a marked Lease's real duration. The duration that the Lease shows is a multiple of it."""
    return (spec.lease_duration_seconds or 0) / _MARKED_DURATIONS
