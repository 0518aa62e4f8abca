"""The sandbox's clock as an operator's clock, so that advancing it advances time for both."""

from __future__ import annotations

import threading
from math import inf
from typing import Final

from handloop_sandbox.clock import SettableClock

_LOOK_SECONDS: Final = 0.02


class SharedClock:
    """
    Implements handloop.seams.clock.Clock on a clock that a test advances.

    A waiter checks every 20 ms of real time whether its time has come. Threads: usable from any thread.
    """

    def __init__(self, clock: SettableClock) -> None:
        self.now = self.time = clock.time

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """Wait once on condition (held by the caller). Return False if the timeout has passed."""
        return self.wait_until(condition, None if timeout_seconds is None else self.now() + timeout_seconds)

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """Wait once on condition (held by the caller). Return False if the clock has reached `at`."""
        if at is None or at == inf:
            return condition.wait()
        if (left := at - self.now()) > 0:
            # Wait only once and let the caller check again, because a timed-out wait may have consumed a
            # notification.
            condition.wait(min(left, _LOOK_SECONDS))
        return self.now() < at

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until the time has passed or stop is set. Return True if stop is set."""
        until = self.now() + seconds
        while (left := until - self.now()) > 0 and not stop.wait(min(left, _LOOK_SECONDS)):
            pass
        return stop.is_set()
