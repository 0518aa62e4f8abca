"""The clock that every wait and every timestamp uses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol


class Clock(Protocol):
    """The source of time for every wait and every timestamp. Tests replace it to control time."""

    def now(self) -> float:
        """Return monotonic seconds. Only the difference between two such values is meaningful."""

    def time(self) -> float:
        """Seconds since the Unix epoch."""

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """
        Wait once on condition. The caller must check its predicate in a loop.

        Returns: False if the timeout has passed. A wait can also return True without a notification.
        Locks: the caller holds condition.
        """

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """
        Wait once on condition, until now() reaches at. The caller must check its predicate in a loop.

        Unlike a timeout, a deadline stays correct if time passes between computing it and waiting.

        Args: at is the deadline, on the clock of `now()`; None or `math.inf` waits forever.
        Returns: False if the deadline has passed. A wait can also return True without a notification.
        Locks: the caller holds condition.
        """

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """
        Wait until the given time has passed or stop is set.

        Returns: True if stop is set.
        """


# On Linux, use the clock that includes suspended time, because leases, tokens and connections age then, too.
_monotonic: Final[Callable[[], float]] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return monotonic seconds. On Linux they include the time during which the machine was suspended."""
        return _monotonic()

    def time(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """Wait once on condition, for timeout_seconds at most. None waits forever."""
        return condition.wait(None if timeout_seconds is None else _bounded(timeout_seconds))

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """Wait once on condition, until now() reaches at. None waits forever."""
        if at is None:
            return condition.wait()
        condition.wait(_bounded(at - _monotonic()))
        return _monotonic() < at

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until the time has passed or stop is set. Return True if stop is set."""
        return stop.wait(_bounded(seconds))


def _bounded(seconds: float) -> float:
    """Return a timeout that the standard library accepts: at least 0, and at most about 292 years."""
    return min(max(seconds, 0.0), threading.TIMEOUT_MAX)


REAL_CLOCK = RealClock()
