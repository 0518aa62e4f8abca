"""A real clock that runs fast: back-offs and patience of half a minute take half a second."""

from __future__ import annotations

import threading
from typing import Final

from handloop.seams.clock import RealClock
from handloop_learn import clocks

TIMES_AS_FAST: Final = 60.0


class FastClock(clocks.FastClock):
    """
    now() and every wait are sixty times as fast; time(), which is written to objects, is real.

    only_sleeps leaves now() and the waits on conditions as they are: for code that lets seconds pass before
    it acts, and has deadlines besides.
    """

    def __init__(self, *, only_sleeps: bool = False) -> None:
        super().__init__(1.0 if only_sleeps else TIMES_AS_FAST)

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        return RealClock.sleep(self, seconds / TIMES_AS_FAST, stop)
