"""
Has everything that was there at the start been dealt with? Counters that answer it for handlers.

Follows: client-go tools/cache/synctrack (synctrack.go, lazy.go) @32ce75a7d.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from handloop.workqueue.locks import new_lock

V = TypeVar("V")
K = TypeVar("K", bound=Hashable)

_LEAF_RANK = 95
# below all others: evaluate is the user's and may read stores
_EVALUATION_RANK = 2


class SyncTrackError(AssertionError):
    """More work was finished than was started: the caller's bookkeeping is wrong."""


class SingleFileTracker:
    """
    Tracks work that is started and finished by count, one piece at a time.

    State: _outstanding = started - finished, never negative; once synced, synced for ever.
    Threads: start, finished and has_synced from any.
    """

    def __init__(self, upstream_has_synced: Callable[[], bool]) -> None:
        self._upstream_has_synced = upstream_has_synced
        self._lock = new_lock("SingleFileTracker._lock", _LEAF_RANK)
        self._outstanding = 0
        self._synced = False

    def start(self, count: int = 1) -> None:
        """Note count pieces of initial work, before they can be finished and before upstream is synced."""
        with self._lock:
            self._outstanding += count

    def finished(self, count: int = 1) -> None:
        """
        Note that count pieces are done.

        Raises: SyncTrackError when that is more than was started.
        """
        with self._lock:
            if count > self._outstanding:
                raise SyncTrackError(f"finished {count} of {self._outstanding} started")
            self._outstanding -= count

    def has_synced(self) -> bool:
        """Whether upstream is synced and all of its initial work is done."""
        if self._synced:
            return True
        # upstream first: a count read before it may be a count from before the last start
        if not self._upstream_has_synced():
            return False
        with self._lock:
            if self._outstanding == 0:
                self._synced = True
            return self._outstanding == 0


class AsyncTracker(Generic[K]):
    """
    As SingleFileTracker by key, for work that finishes out of order or more than once.

    State: _waiting = keys started and not finished.
    Threads: any.
    """

    def __init__(self, upstream_has_synced: Callable[[], bool]) -> None:
        self._upstream_has_synced = upstream_has_synced
        self._lock = new_lock("AsyncTracker._lock", _LEAF_RANK)
        self._waiting: set[K] = set()
        self._synced = False

    def start(self, key: K) -> None:
        """Note a piece of initial work."""
        with self._lock:
            self._waiting.add(key)

    def finished(self, key: K) -> None:
        """Note that the work on key is done; harmless without a start."""
        with self._lock:
            self._waiting.discard(key)

    def has_synced(self) -> bool:
        """Whether upstream is synced and no initial work is left."""
        if self._synced:
            return True
        if not self._upstream_has_synced():
            return False
        with self._lock:
            if not self._waiting:
                self._synced = True
            return not self._waiting


class _Cell(Generic[V]):
    """One evaluation: notify puts a new cell in its place."""

    __slots__ = ("lock", "value")

    def __init__(self) -> None:
        self.lock = new_lock("Lazy._cell", _EVALUATION_RANK)
        self.value: tuple[V] | None = None


class Lazy(Generic[V]):
    """
    A value computed when it is asked for and kept until notify() says that it is out of date.

    Guarantee: a get that begins after a notify returned never returns a value computed before that notify.
    Concurrent gets evaluate once; an error is raised to the caller and not kept.
    """

    def __init__(self, evaluate: Callable[[], V]) -> None:
        self._evaluate = evaluate
        self._lock = new_lock("Lazy._lock", _LEAF_RANK)
        self._cell: _Cell[V] = _Cell()

    def notify(self) -> None:
        """The value has changed; the next get computes it."""
        cell: _Cell[V] = _Cell()
        with self._lock:
            self._cell = cell

    def get(self) -> V:
        """
        The value.

        Blocks: while it is computed.
        Raises: whatever evaluate raises.
        """
        with self._lock:
            cell = self._cell
        with cell.lock:
            if cell.value is None:
                cell.value = (self._evaluate(),)
            return cell.value[0]
