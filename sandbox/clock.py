"""Time as the sandbox sees it: unix seconds, from one place."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where the sandbox's time comes from; a test moves it by hand."""

    def time(self) -> float:
        """Unix seconds; never goes back."""


class RealClock:
    """The wall clock at the start, moved on by the monotonic one: it never jumps."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def time(self) -> float:
        """Unix seconds."""
        return self._offset + time.monotonic()
