"""A clock that moves only when the test says so."""

from __future__ import annotations

import threading
from typing import Final

_POLL_SECONDS: Final = 0.005
_HARD_LIMIT_SECONDS: Final = 30.0


class FakeClock:
    """
    Implements workqueue.clock.Clock on virtual time.

    Waiters are woken by notify, by `advance`, or by the event they watch; they never time out on real time,
    except that a wait longer than 30 real seconds raises, so that a wrong test fails instead of hanging.
    """

    def __init__(self, *, start: float = 0.0, unix: float = 1_700_000_000.0) -> None:
        self._lock = threading.Lock()
        self._now = start
        self._unix_offset = unix - start
        self._waiting: list[threading.Condition] = []
        self._deadlines: dict[int, float] = {}
        self._tokens = 0
        self._changed = threading.Condition(self._lock)

    def now(self) -> float:
        with self._lock:
            return self._now

    def time(self) -> float:
        with self._lock:
            return self._now + self._unix_offset

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """Wait once on condition (held by the caller); False when the virtual timeout has passed."""
        deadline = None if timeout_seconds is None else self.now() + timeout_seconds
        if deadline is not None and deadline <= self.now():
            return False
        token = self._register(condition, deadline)
        try:
            # advance() takes the condition lock to notify: a step before the wait begins is not lost
            if not condition.wait(_HARD_LIMIT_SECONDS):
                raise TimeoutError("a wait on the fake clock took more than 30 real seconds")
        finally:
            self._unregister(token, condition)
        return deadline is None or self.now() < deadline

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until virtual seconds have passed or stop is set; True when stop is set."""
        deadline = self.now() + seconds
        with self._changed:
            self._tokens += 1
            token = self._tokens
            self._deadlines[token] = deadline
            self._changed.notify_all()
            try:
                for _ in range(int(_HARD_LIMIT_SECONDS / _POLL_SECONDS)):
                    if stop.is_set() or self._now >= deadline:
                        return stop.is_set()
                    self._changed.wait(_POLL_SECONDS)
            finally:
                del self._deadlines[token]
        raise TimeoutError("a sleep on the fake clock took more than 30 real seconds")

    def advance(self, seconds: float) -> None:
        """Move time forward and wake everybody who waits."""
        with self._changed:
            self._now += seconds
            waiting = list(self._waiting)
            self._changed.notify_all()
        for condition in waiting:
            with condition:
                condition.notify_all()

    def wait_for_waiters(self, count: int) -> None:
        """Block until count threads wait for a point in virtual time; raises after 30 real seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._deadlines) >= count, _HARD_LIMIT_SECONDS):
                raise TimeoutError(f"{len(self._deadlines)} of {count} expected waiters")

    def deadlines(self) -> list[float]:
        """The points in time that somebody waits for, ascending."""
        with self._lock:
            return sorted(self._deadlines.values())

    def _register(self, condition: threading.Condition, deadline: float | None) -> int:
        with self._changed:
            self._tokens += 1
            self._waiting.append(condition)
            if deadline is not None:
                self._deadlines[self._tokens] = deadline
            self._changed.notify_all()
            return self._tokens

    def _unregister(self, token: int, condition: threading.Condition) -> None:
        with self._changed:
            self._waiting.remove(condition)
            self._deadlines.pop(token, None)
