"""A lock that raises when a thread takes locks out of order, without needing the deadlock to happen."""

from __future__ import annotations

import threading
from types import TracebackType

_held = threading.local()


def _stack() -> list[RankedLock]:
    stack: list[RankedLock] = _held.__dict__.setdefault("stack", [])
    return stack


class LockOrderError(AssertionError):
    """A lock of the same or a lower rank was taken while another was held."""


class RankedLock:
    """Implements handloop.seams.locks.Lock and checks ranks; works under threading.Condition."""

    def __init__(self, name: str, rank: int) -> None:
        self._lock = threading.Lock()
        self._name = name
        self._rank = rank

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        stack = _stack()
        if not blocking and self in stack:
            return False  # how threading.Condition finds out whether its lock is held
        if stack and stack[-1]._rank >= self._rank:
            raise LockOrderError(f"{self} taken while holding {stack}")
        taken = self._lock.acquire(blocking, timeout)
        if taken:
            stack.append(self)
        return taken

    def release(self) -> None:
        _stack().remove(self)
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"{self._name} ({self._rank})"
