"""A clock that runs faster than the machine's: back-offs and patience of half a minute take half a second."""

from __future__ import annotations

import threading
import time
from typing import Final

from handloop.workqueue.clock import RealClock

TIMES_AS_FAST: Final = 60.0


class RacingClock(RealClock):
    """now() and every wait are sixty times as fast; time(), which is written to objects, is real."""

    def now(self) -> float:
        return time.monotonic() * TIMES_AS_FAST

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        return super().wait(condition, None if timeout_seconds is None else timeout_seconds / TIMES_AS_FAST)

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        if at is None:
            return condition.wait()
        super().wait(condition, (at - self.now()) / TIMES_AS_FAST)
        return self.now() < at

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        return super().sleep(seconds / TIMES_AS_FAST, stop)
