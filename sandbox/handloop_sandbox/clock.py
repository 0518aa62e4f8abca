"""Time as the sandbox sees it, in unix seconds: a clock that runs, and that a test may set."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Where the sandbox's time comes from; a test moves it by hand."""

    def time(self) -> float:
        """Unix seconds; never goes back."""


class SettableClock:
    """
    A clock that a test may set. It runs until it is frozen, and only goes forward.

    By itself it follows the monotonic clock: it never jumps with the machine's.

    State: _now is the time at _since (monotonic); _since None = frozen. Both under _lock, a leaf.
    Threads: any. Listeners are called after the clock was moved, by the thread that moved it, without the
    lock.
    """

    def __init__(self, now: float | None = None, *, frozen: bool = False) -> None:
        """Args: now is unix time, None = the wall clock's."""
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._now = time.time() if now is None else now
        self._since: float | None = None if frozen else time.monotonic()

    def time(self) -> float:
        """Unix seconds."""
        with self._lock:
            return self._time_locked()

    def advance(self, seconds: float) -> float:
        """Go forward by a few seconds. Returns: the new time. Raises: ValueError for a negative number."""
        if seconds < 0:
            raise ValueError("time does not go back")
        with self._lock:
            self._move_locked(self._time_locked() + seconds)
            now = self._now
        self._tell()
        return now

    def set(self, now: float) -> None:
        """Go to a unix time. Raises: ValueError when that has passed."""
        with self._lock:
            if now < self._time_locked():
                raise ValueError("time does not go back")
            self._move_locked(now)
        self._tell()

    def freeze(self) -> None:
        """Stand still until run(), advance() or set()."""
        with self._lock:
            self._now, self._since = self._time_locked(), None

    def run(self) -> None:
        """Go on by itself."""
        with self._lock:
            self._now, self._since = self._time_locked(), time.monotonic()
        self._tell()

    @property
    def is_running(self) -> bool:
        """Whether time passes by itself."""
        with self._lock:
            return self._since is not None

    def listen(self, listener: Callable[[], None]) -> None:
        """Have listener called, by the moving thread, each time the clock was moved."""
        self._listeners.append(listener)

    def _time_locked(self) -> float:
        return self._now if self._since is None else self._now + time.monotonic() - self._since

    def _move_locked(self, now: float) -> None:
        self._now = now
        if self._since is not None:
            self._since = time.monotonic()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
