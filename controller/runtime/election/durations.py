"""
The rules for the durations of leader election, and the default values.

Follows: client-go tools/leaderelection/leaderelection.go (NewLeaderElector), differs: the lease duration,
rounded down to the whole seconds that a Lease stores, must be longer than the renew deadline. client-go also
rounds the duration down, but checks it before rounding.
"""

from __future__ import annotations

from typing import Final

JITTER_FACTOR: Final = 1.2
LEASE_DURATION_SECONDS: Final = 15.0
RENEW_DEADLINE_SECONDS: Final = 10.0
RETRY_PERIOD_SECONDS: Final = 2.0
LOOKS_PER_RETRY: Final = 4
"""How often a candidate reads a lease per retry period, while it waits or after a failed release."""


def validate_durations(lease_duration: float, renew_deadline: float, retry_period: float) -> None:
    """
    Check client-go's rules, in its order. Then check that the lease duration in whole seconds exceeds the
    renew deadline.

    Args: all durations are in seconds.
    Raises: ValueError with client-go's message.
    """
    if not lease_duration > renew_deadline:
        raise ValueError("leaseDuration must be greater than renewDeadline")
    if not renew_deadline > retry_period * JITTER_FACTOR:
        raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
    durations = {
        "leaseDuration": lease_duration,
        "renewDeadline": renew_deadline,
        "retryPeriod": retry_period,
    }
    for name, seconds in durations.items():
        if not seconds > 0:
            raise ValueError(f"{name} must be greater than zero")
    # Other candidates may take over after the Lease's duration, rounded down to whole seconds. We must stop
    # leading before that.
    written = lease_duration // 1
    if not written > renew_deadline:
        raise ValueError(f"leaseDuration, rounded down to {written:.0f}s, must be greater than renewDeadline")
