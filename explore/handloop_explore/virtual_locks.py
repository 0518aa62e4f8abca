"""Versions of threading's locks, conditions and events for virtual threads, which wait in virtual time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from random import Random
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from greenlet import getcurrent, greenlet


class Wait:
    """One wait of one thread. It is `over` after the thread has been woken, or its timeout has passed."""

    __slots__ = ("over", "thread", "woken")

    def __init__(self) -> None:
        self.thread: greenlet | None = None
        self.woken = False
        self.over = False


class Scheduler(Protocol):
    """Runs one thread at a time. Fields: now, the virtual time in seconds; steps: see VirtualThreads."""

    now: float
    steps: Random | None

    def step(self) -> None:
        """At random, delay the running thread before it acquires a lock."""

    def wait(self, waits: Wait, seconds: float | None) -> bool:
        """Block the running thread until it is woken or the timeout passes. Returns: whether it was woken."""

    def wake(self, waits: Wait) -> bool:
        """End a wait. Returns: whether the thread was still waiting."""


class VirtualLock:
    """
    A virtual threading.Lock.

    Threads run one at a time, so a thread finds the lock held only if the holder waits.
    """

    def __init__(self, threads: Scheduler) -> None:
        self._threads = threads
        self._owner: greenlet | None = None
        self._waiting: deque[Wait] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - threading's
        """Acquire the lock."""
        if self._threads.steps:
            self._threads.step()
        if self._owner is None:
            self._owner = getcurrent()
            return True
        until = math.inf if timeout < 0 else self._threads.now + timeout
        while self._owner is not None:
            if not blocking or self._threads.now >= until:
                return False
            waits = Wait()
            self._waiting.append(waits)
            self._threads.wait(waits, None if until == math.inf else until - self._threads.now)
        self._owner = getcurrent()
        return True

    def release(self) -> None:
        """Release the lock."""
        self._owner = None
        if self._waiting:
            self._wake_one()

    def _wake_one(self) -> None:
        while self._waiting and not self._threads.wake(self._waiting.popleft()):
            pass

    def locked(self) -> bool:
        """Return whether a thread holds the lock."""
        return self._owner is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def new_condition(self) -> VirtualCondition:
        """Return a condition that uses this lock; see handloop.seams.locks.condition_over."""
        return VirtualCondition(self._threads, self)


class VirtualRLock(VirtualLock):
    """A virtual threading.RLock."""

    def __init__(self, threads: Scheduler) -> None:
        super().__init__(threads)
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - threading's
        """Acquire the lock, or acquire it again if this thread holds it."""
        taken = self._owner is getcurrent() or super().acquire(blocking, timeout)
        self._depth += taken
        return taken

    def release(self) -> None:
        """Undo one acquire(). The lock becomes free once every acquire() has been undone."""
        self._depth -= 1
        if not self._depth:
            super().release()


_AnyLock: TypeAlias = VirtualLock


class VirtualCondition:
    """A virtual threading.Condition."""

    def __init__(self, threads: Scheduler, lock: _AnyLock | None = None) -> None:
        self._threads = threads
        self._lock = VirtualRLock(threads) if lock is None else lock
        self._waiting: deque[Wait] = deque()
        self.acquire = self._lock.acquire
        self.release = self._lock.release

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait to be notified, and acquire the lock again."""
        waits = Wait()
        self._waiting.append(waits)
        self._lock.release()
        try:
            return self._threads.wait(waits, timeout)
        finally:
            self._lock.acquire()

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """Wait until the predicate is true."""
        until = math.inf if timeout is None else self._threads.now + timeout
        while not (holds := predicate()) and self._threads.now < until:
            self.wait(None if until == math.inf else until - self._threads.now)
        return holds

    def notify(self, n: int = 1) -> None:
        """Wake n waiters."""
        while n > 0 and self._waiting:
            n -= self._threads.wake(self._waiting.popleft())

    def notify_all(self) -> None:
        """Wake all waiters."""
        self.notify(len(self._waiting))


class VirtualEvent:
    """A virtual threading.Event."""

    def __init__(self, threads: Scheduler) -> None:
        self._threads = threads
        self._set = False
        self._waiting: list[Wait] = []

    def is_set(self) -> bool:
        """Return whether the event is set."""
        return self._set

    def set(self) -> None:
        """Set the event, and wake all waiters."""
        self._set = True
        waiting, self._waiting = self._waiting, []
        for waits in waiting:
            self._threads.wake(waits)

    def clear(self) -> None:
        """Clear the event."""
        self._set = False

    def _at_fork_reinit(self) -> None:
        """Do nothing. After a fork, the threading module calls this method on the events of all threads."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the event is set or the timeout passes. Returns: whether the event is set."""
        if not self._set:
            waits = Wait()
            self._waiting.append(waits)
            self._threads.wait(waits, timeout)
        return self._set
