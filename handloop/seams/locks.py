"""Creates locks through a replaceable factory, so that tests can check the order in which locks are taken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol

_YIELDS_BEFORE_BLOCKING: Final = 64


class Lock(Protocol):
    """The methods that `threading.Lock` and the tests' ranked lock have in common."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - threading's own signature
        """Take the lock."""

    def release(self) -> None:
        """Give the lock back."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


LockFactory = Callable[[str, int], Lock]


def plain_lock(_name: str, _rank: int) -> Lock:
    """Return a standard library lock."""
    return threading.Lock()


_factory: LockFactory = plain_lock


def set_lock_factory(factory: LockFactory) -> LockFactory:
    """
    Use factory for locks that are created from now on, and return the previous factory.

    Only tests call this.
    """
    global _factory
    before, _factory = _factory, factory
    return before


def new_lock(name: str, rank: int) -> Lock:
    """
    Return a lock. A thread must not take the lock while it holds a lock of the same or a higher rank.

    Args: name has the form `Class._field`; rank is from docs/internals/threads-and-locks.md.
    """
    return _factory(name, rank)


def new_condition(name: str, rank: int) -> threading.Condition:
    """Return a condition variable with a new lock from new_lock."""
    return condition_over(new_lock(name, rank))


def condition_over(lock: Lock) -> threading.Condition:
    """
    Return a condition variable that uses an existing lock, which can also guard other state.

    If the lock has a method `new_condition`, that method creates the condition variable. A test's lock has
    this method, so that the test can choose which thread wakes up.
    """
    own: Callable[[], threading.Condition] | None = getattr(lock, "new_condition", None)
    return own() if own is not None else threading.Condition(lock)  # type: ignore[arg-type]


def acquire_contended(lock: Lock) -> None:
    """
    Take a lock that another thread held when the caller tried to take it without blocking.

    This function yields a few times before it blocks. A blocked thread can get the lock while it still waits
    for the GIL. The thread that holds the GIL may then want the lock again, and block as well. From then on,
    every use of a busy lock costs a thread switch. A thread that yields lets the lock's owner finish instead.
    """
    for _ in range(_YIELDS_BEFORE_BLOCKING):
        time.sleep(0)
        if lock.acquire(blocking=False):
            return
    lock.acquire()
