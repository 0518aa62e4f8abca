"""A clock for one thread: whoever sleeps on it moves it."""

from __future__ import annotations

import threading

from support.fake_clock import FakeClock


class SteppingClock(FakeClock):
    """As FakeClock, but sleep returns at once, that much later; `slept` records it."""

    def __init__(self, *, start: float = 0.0, unix: float = 1_700_000_000.0) -> None:
        super().__init__(start=start, unix=unix)
        self.slept: list[float] = []

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Move time forward by seconds, unless stop is set."""
        if stop.is_set():
            return True
        self.slept.append(seconds)
        self.advance(seconds)
        return stop.is_set()
