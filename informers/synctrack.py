"""
Has everything that was there at the start been dealt with? A counter that answers it for handlers.

Follows: client-go tools/cache/synctrack/synctrack.go @32ce75a7d.
"""

from __future__ import annotations

from collections.abc import Callable

from handloop.workqueue.locks import new_lock


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
        self._lock = new_lock("SingleFileTracker._lock", 95)
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
