"""The sandbox's time, in unix seconds: a running clock that a test can set."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The source of the sandbox's time."""

    def time(self) -> float:
        """Unix seconds; never goes back."""


class SettableClock:
    """
    A clock that a test can set. It runs until it is frozen, and never goes back.

    While running, it follows the monotonic clock, so it does not jump when the machine's clock is set.

    State: _now is the clock's time at the monotonic time _since; _since is None while the clock is frozen.
    _lock guards both. It is a leaf lock.
    Threads: any thread can use the clock. The thread that moves the clock then calls the listeners without
    the lock.
    """

    def __init__(self, now: float | None = None, *, frozen: bool = False) -> None:
        """Args: now is the initial unix time; None means the wall clock's time."""
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._now = time.time() if now is None else now
        self._since: float | None = None if frozen else time.monotonic()

    def time(self) -> float:
        """Unix seconds."""
        with self._lock:
            return self._time_locked()

    def advance(self, seconds: float) -> float:
        """Move the clock forward. Returns: the new time. Raises: ValueError if seconds is negative."""
        if seconds < 0:
            raise ValueError("time does not go back")
        with self._lock:
            self._move_locked(self._time_locked() + seconds)
            now = self._now
        self._tell()
        return now

    def set(self, now: float) -> None:
        """Move the clock forward to a unix time. Raises: ValueError if this time is in the past."""
        with self._lock:
            if now < self._time_locked():
                raise ValueError("time does not go back")
            self._move_locked(now)
        self._tell()

    def freeze(self) -> None:
        """Stop the clock. Until run() is called, only advance() and set() change its time."""
        with self._lock:
            self._now, self._since = self._time_locked(), None

    def run(self) -> None:
        """Let the clock run again."""
        with self._lock:
            self._now, self._since = self._time_locked(), time.monotonic()
        self._tell()

    @property
    def is_running(self) -> bool:
        """Whether the clock runs by itself."""
        with self._lock:
            return self._since is not None

    def listen(self, listener: Callable[[], None]) -> None:
        """Register listener. After each move of the clock, the thread that moved it calls the listener."""
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
