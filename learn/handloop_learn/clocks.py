"""Clocks for chapters that would otherwise have to wait: one advances only by hand, and one runs fast."""

from __future__ import annotations

import threading
import time
from typing import Final

from handloop.seams.clock import RealClock

_POLL_SECONDS: Final = 0.002


class HandClock(RealClock):
    """
    A clock that advances only when `advance` is called. A waiting thread checks it every two milliseconds.

    State: _now is the time in seconds; only the chapter's thread changes it.
    """

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Return the seconds by which the clock has been advanced so far."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move time forward."""
        self._now += seconds

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """Wait once on condition, for at most timeout_seconds of this clock. None waits forever."""
        return self.wait_until(condition, None if timeout_seconds is None else self._now + timeout_seconds)

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """Wait once on condition, at most until now() reaches `at`. None waits forever."""
        if at is None:
            return condition.wait()
        if self._now < at:
            condition.wait(_POLL_SECONDS)
        return self._now < at

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until `seconds` of this clock have passed or stop is set. Return True if stop is set."""
        until = self._now + seconds
        while self._now < until and not stop.wait(_POLL_SECONDS):
            pass
        return stop.is_set()


class FastClock(RealClock):
    """A clock whose now() and waits run `times` times as fast; time(), which objects record, is real."""

    def __init__(self, times: float = 60.0) -> None:
        self.times = times

    def now(self) -> float:
        """Return seconds that pass `times` times as fast as real ones."""
        return time.monotonic() * self.times

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """Wait once on condition, for at most timeout_seconds of this clock. None waits forever."""
        return super().wait(condition, None if timeout_seconds is None else timeout_seconds / self.times)

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """Wait once on condition, at most until now() reaches `at`. None waits forever."""
        if at is None:
            return condition.wait()
        super().wait(condition, (at - self.now()) / self.times)
        return self.now() < at

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until `seconds` of this clock have passed or stop is set. Return True if stop is set."""
        return super().sleep(seconds / self.times, stop)
