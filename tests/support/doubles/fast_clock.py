"""A real clock that runs fast: back-offs and patience of half a minute take half a second."""

from __future__ import annotations

import threading
import time
from typing import Final

from handloop.seams.clock import RealClock

TIMES_AS_FAST: Final = 60.0


class FastClock(RealClock):
    """
    now() and every wait are sixty times as fast; time(), which is written to objects, is real.

    only_sleeps leaves now() and the waits on conditions as they are: for code that lets seconds pass before
    it acts, and has deadlines besides.
    """

    def __init__(self, *, only_sleeps: bool = False) -> None:
        self._times = 1.0 if only_sleeps else TIMES_AS_FAST

    def now(self) -> float:
        return time.monotonic() * self._times

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        return super().wait(condition, None if timeout_seconds is None else timeout_seconds / self._times)

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        if at is None:
            return condition.wait()
        super().wait(condition, (at - self.now()) / self._times)
        return self.now() < at

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        return super().sleep(seconds / TIMES_AS_FAST, stop)
