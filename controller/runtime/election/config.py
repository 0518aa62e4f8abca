"""
The configuration of leader election: the lock, and the durations.

Follows: client-go tools/leaderelection/leaderelection.go (NewLeaderElector), differs: the lock and the
guarded work are arguments without a default, so they cannot be missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
    validate_durations,
)
from handloop.controller.runtime.election.lease_lock import LeaseLock


@dataclass(frozen=True, slots=True)
class LeaderElectionConfig:
    """The lock to compete for, and the durations with which it is renewed."""

    lock: LeaseLock
    """Where the holder is written."""

    lease_duration_seconds: float = LEASE_DURATION_SECONDS
    """
    How long other candidates wait for a renewal. The Lease stores this in whole seconds, which must be longer
    than renew_deadline_seconds.
    """

    renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS
    """How long a leader tries to renew the lease before it stops leading."""

    retry_period_seconds: float = RETRY_PERIOD_SECONDS
    """The pause between tries."""

    release_on_cancel: bool = True
    """Whether to release the lease on shutdown, so that the next leader can start immediately."""

    of_many: bool = False
    """
    The process holds several leases. Losing one ends the work that it guards, but not the process, and the
    process reports all of them in one log line.
    """

    @property
    def written_seconds(self) -> int:
        """The duration in the Lease, in whole seconds. Other candidates wait for this long."""
        return int(self.lease_duration_seconds)

    def validate(self) -> None:
        """
        Check the durations, then the identity.

        Raises: ValueError for the first broken rule.
        """
        validate_durations(
            self.lease_duration_seconds, self.renew_deadline_seconds, self.retry_period_seconds
        )
        if not self.lock.identity:
            raise ValueError("Lock identity is empty")
