"""Shows an exploration's progress, in one changing line on a terminal, and otherwise as a line every 10 s."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final, TextIO

from handloop_explore.report import Report

EVERY_SECONDS: Final = 10.0
"""The time between two lines if the stream is not a terminal."""
_REDRAW_SECONDS: Final = 0.1
_BAR: Final = 24
_FEW: Final = 10
"""A rate below this many plans per second is shown with one decimal place."""


class Progress:
    """
    Shows an exploration's progress.

    State: _next, the time at which the next line is due.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        seconds: float = math.inf,
        plans: float = math.inf,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args: stream: receives the lines; seconds, plans: the limits at which the exploration ends."""
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._seconds, self._plans = seconds, plans
        self._now = now
        self._began = now()
        self._next = self._began + (0 if self._is_terminal else EVERY_SECONDS)

    def show(self, report: Report) -> None:
        """Write the progress if a line is due."""
        now = self._now()
        if now < self._next:
            return
        self._next = now + (_REDRAW_SECONDS if self._is_terminal else EVERY_SECONDS)
        passed = now - self._began
        done = min(1.0, max(passed / self._seconds, report.plans / self._plans))
        plans = "1 plan" if report.plans == 1 else f"{report.plans} plans"
        rate = report.plans / max(passed, 1e-3)
        words = f"{done:4.0%}  {plans}, {rate:.{int(rate < _FEW)}f} a second"
        failed = f"{report.failed or 'none'} failed"
        if self._is_terminal:
            bar = "#" * round(done * _BAR)
            self._stream.write(f"\r[{bar:.<{_BAR}}] {words}, {failed}\x1b[K")
        else:
            self._stream.write(f"{words.strip()}, {failed}\n")
        self._stream.flush()

    def end(self) -> None:
        """Erase the line on a terminal, so that only the report remains."""
        if self._is_terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
