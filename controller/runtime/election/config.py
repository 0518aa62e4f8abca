"""
How leader election is set up.

Follows: client-go tools/leaderelection/leaderelection.go (NewLeaderElector), differs: callbacks and the lock
are arguments without a default, so they cannot be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
    validate_durations,
)
from handloop.controller.runtime.election.record import LeaderElectionRecord


class Lock(Protocol):
    """
    What the elector holds on to: LeaseLock. Every call takes at most timeout_seconds an attempt.

    Threads: the elector's only.
    """

    @property
    def identity(self) -> str:
        """Who we are, unlike any other candidate."""

    @property
    def name(self) -> str:
        """The label of metrics."""

    def describe(self) -> str:
        """What it is called in messages."""

    def get(self, timeout_seconds: float) -> LeaderElectionRecord:
        """Read the record. Raises: NotFound, ClientError."""

    def create(self, record: LeaderElectionRecord, timeout_seconds: float) -> None:
        """Make the lock with that record. Raises: ClientError."""

    def update(self, record: LeaderElectionRecord, timeout_seconds: float) -> None:
        """Write over the record that was last read or written. Raises: Conflict, ClientError."""

    def record_event(self, text: str) -> None:
        """Tell people. Never blocks."""


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """
    A lock and the rhythm in which it is kept.

    lease_duration_seconds is how long others wait for a sign of life. The Lease holds its whole seconds,
    which must outlast renew_deadline_seconds: how long a leader tries before it gives up.
    retry_period_seconds is the pause between tries. release_on_cancel lets the next one in at once when we
    stop. coordinated leaves it to the control plane who gets the lease; each candidate needs a
    CandidateRegistration then.
    """

    lock: Lock
    lease_duration_seconds: float = LEASE_DURATION_SECONDS
    renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS
    retry_period_seconds: float = RETRY_PERIOD_SECONDS
    release_on_cancel: bool = True
    coordinated: bool = False

    @property
    def written_seconds(self) -> int:
        """The duration that the Lease says, and others count."""
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
