"""
How leader election is set up: the lock, its record, and the durations.

Follows: client-go tools/leaderelection/leaderelection.go (NewLeaderElector), resourcelock/interface.go,
differs: the lock and the guarded work are arguments without a default, so they cannot be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import msgspec

from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
    validate_durations,
)


class LeaderElectionRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What a lease says: who leads, for how long without a sign of life, and since when.

    holder_identity "" = nobody. Times are RFC 3339 with microseconds, "" = none. They stay as the server
    spells them: another machine's clock may be wrong, so nothing computes with them. leader_transitions
    counts how often the lease has changed hands. strategy and preferred_holder belong to coordinated leader
    election.
    """

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""

    def raw(self) -> bytes:
        """Bytes by which two states of the lease can be compared."""
        return msgspec.json.encode(self)


class Lock(Protocol):
    """
    The elector's lock: LeaseLock. Every call takes at most timeout_seconds an attempt.

    Threads: the elector's only.
    """

    @property
    def identity(self) -> str:
        """Our identity, unlike any other candidate's."""

    @property
    def name(self) -> str:
        """The label of metrics."""

    def describe(self) -> str:
        """Its name in messages."""

    def get(self, timeout_seconds: float) -> LeaderElectionRecord:
        """Read the record. Raises: NotFound, ClientError."""

    def create(self, record: LeaderElectionRecord, timeout_seconds: float) -> None:
        """Make the lock with that record. Raises: ClientError."""

    def update(self, record: LeaderElectionRecord, timeout_seconds: float) -> None:
        """Replace the record that was last read or written. Raises: Conflict, ClientError."""

    def record_event(self, text: str) -> None:
        """Record an Event. Never blocks."""


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """
    A lock and the rhythm in which it is kept.

    Other candidates wait lease_duration_seconds for a sign of life. The Lease holds its whole seconds, which
    must outlast renew_deadline_seconds: how long a leader tries before it gives up. retry_period_seconds is
    the pause between tries. With release_on_cancel a stop lets the next leader begin at once. With
    coordinated the control plane chooses the holder, and each candidate needs a CandidateRegistration.
    """

    lock: Lock
    lease_duration_seconds: float = LEASE_DURATION_SECONDS
    renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS
    retry_period_seconds: float = RETRY_PERIOD_SECONDS
    release_on_cancel: bool = True
    coordinated: bool = False

    @property
    def written_seconds(self) -> int:
        """The duration in the Lease, by which other candidates count."""
        return int(self.lease_duration_seconds)

    def validate(self) -> None:
        """
        Check the durations, then the identity.

        Raises: ValueError, for the first rule that is broken.
        """
        validate_durations(
            self.lease_duration_seconds, self.renew_deadline_seconds, self.retry_period_seconds
        )
        if not self.lock.identity:
            raise ValueError("Lock identity is empty")
