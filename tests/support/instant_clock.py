"""A clock for code that sleeps between tries: every sleep passes at once."""

from __future__ import annotations

import threading

from support.fake_clock import FakeClock


class InstantClock(FakeClock):
    """A FakeClock that moves itself through every sleep, and remembers how long each was."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        if stop.is_set():
            return True
        self.slept.append(seconds)
        self.advance(seconds)
        return stop.is_set()
