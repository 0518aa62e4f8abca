"""A real clock whose sleeps are short: for code that lets seconds pass before it acts."""

from __future__ import annotations

import threading
from typing import Final

from handloop.workqueue.clock import RealClock

TIMES_AS_FAST: Final = 50.0


class HastyClock(RealClock):
    """Sleeps take a fiftieth of what they are asked for; conditions and timestamps are real."""

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        return super().sleep(seconds / TIMES_AS_FAST, stop)
