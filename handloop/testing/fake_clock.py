"""A clock that the test advances, or that advances on each sleep."""

from __future__ import annotations

import math
import threading
from typing import Final

_POLL_SECONDS: Final = 0.005
_HARD_LIMIT_SECONDS: Final = 30.0


class FakeClock:
    """
    Implements handloop.seams.clock.Clock on virtual time.

    Real time does not end a wait: only notify, `advance` or the stop event wakes a waiter. However, a wait of
    more than 30 real seconds raises an error, so that a wrong test fails instead of hanging.

    Once `advance` has reached a thread's deadline, `wait_for_waiters` no longer counts the thread, even if it
    has not woken up yet. To check that a thread waits for the right time, use `wait_for_deadline`.

    If moves_itself is true, a sleep advances the time and returns at once. Use this for code that sleeps
    between attempts on one thread.
    State: slept has the requested length of each sleep.
    """

    def __init__(
        self, *, start: float = 0.0, unix: float = 1_700_000_000.0, moves_itself: bool = False
    ) -> None:
        self.slept: list[float] = []
        self._moves_itself = moves_itself
        self._lock = threading.Lock()
        self._now = start
        self._unix_offset = unix - start
        self._waiting: list[threading.Condition] = []
        self._deadlines: dict[int, float] = {}
        self._tokens = 0
        self._changed = threading.Condition(self._lock)

    def now(self) -> float:
        """Return virtual seconds, like a monotonic clock."""
        with self._lock:
            return self._now

    def time(self) -> float:
        """Virtual unix seconds."""
        with self._lock:
            return self._now + self._unix_offset

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """Wait once on condition (held by the caller). Return False if the virtual timeout has passed."""
        if timeout_seconds is None:
            return self.wait_until(condition, None)
        with self._changed:
            deadline = self._now + timeout_seconds
        return self.wait_until(condition, deadline)

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """Wait once on condition (held by the caller). Return False if virtual time has reached `at`."""
        deadline = math.inf if at is None else at
        token = self._register(condition, deadline)
        if token is None:
            return False
        try:
            # advance() takes the condition's lock to notify, so that this wait cannot miss it.
            if not condition.wait(_HARD_LIMIT_SECONDS):
                raise TimeoutError("a wait on the fake clock took more than 30 real seconds")
        finally:
            with self._changed:
                self._waiting.remove(condition)
                self._deadlines.pop(token, None)
        return self.now() < deadline

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until the virtual seconds have passed or stop is set. Return True if stop is set."""
        if self._moves_itself:
            if not stop.is_set():
                self.slept.append(seconds)
                self.advance(seconds)
            return stop.is_set()
        with self._changed:
            deadline = self._now + seconds
            token = self._add_deadline(deadline)
            try:
                # Poll, because a thread cannot wait for a threading.Event and for virtual time together.
                for _ in range(int(_HARD_LIMIT_SECONDS / _POLL_SECONDS)):
                    if stop.is_set() or self._now >= deadline:
                        return stop.is_set()
                    self._changed.wait(_POLL_SECONDS)
            finally:
                self._deadlines.pop(token, None)
        raise TimeoutError("a sleep on the fake clock took more than 30 real seconds")

    def advance(self, seconds: float) -> None:
        """Advance time and wake all waiters."""
        with self._changed:
            self._now += seconds
            self._deadlines = {token: at for token, at in self._deadlines.items() if at > self._now}
            waiting = list(self._waiting)
            self._changed.notify_all()
        for condition in waiting:
            with condition:
                condition.notify_all()

    def wait_for_waiters(self, count: int) -> None:
        """Block until count threads wait for a future time. Raises TimeoutError after 30 real seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._deadlines) >= count, _HARD_LIMIT_SECONDS):
                raise TimeoutError(f"{len(self._deadlines)} of {count} expected waiters")

    def wait_for_deadline(self, at: float) -> None:
        """Block until a thread waits for this virtual time. Raises TimeoutError after 30 real seconds."""
        with self._changed:
            waited_for = self._changed.wait_for(
                lambda: any(math.isclose(at, deadline) for deadline in self._deadlines.values()),
                _HARD_LIMIT_SECONDS,
            )
            if not waited_for:
                raise TimeoutError(f"no thread waits for {at}, only for {sorted(self._deadlines.values())}")

    def deadlines(self) -> list[float]:
        """Return the times that threads are waiting for, earliest first."""
        with self._lock:
            return sorted(self._deadlines.values())

    def _register(self, condition: threading.Condition, deadline: float) -> int | None:
        """
        Register a waiter. Return None if its deadline has passed.

        The clock's lock is held during this call, so that no `advance` is missed. An earlier one has already
        changed the time, and a later one notifies the condition.
        """
        with self._changed:
            if deadline <= self._now:
                return None
            self._waiting.append(condition)
            return self._add_deadline(deadline)

    def _add_deadline(self, deadline: float) -> int:
        self._tokens += 1
        if self._now < deadline < math.inf:
            self._deadlines[self._tokens] = deadline
        self._changed.notify_all()
        return self._tokens
