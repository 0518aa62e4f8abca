"""
Run a function over a range of numbers with a few threads.

Follows: client-go util/workqueue/parallelizer.go, differs: an exception ends only its own thread, as
upstream, but the first one is raised to the caller once all threads have ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import structlog

from handloop.workqueue.locks import new_lock
from handloop.workqueue.spawn import Spawn, spawn_thread

log = structlog.get_logger("workqueue")

_LEAF_RANK: Final = 95


def parallelize_until(
    stop: threading.Event | None,
    workers: int,
    pieces: int,
    fn: Callable[[int], None],
    *,
    chunk_size: int = 1,
    spawn: Spawn = spawn_thread,
) -> None:
    """
    Call fn(i) once for each i in range(pieces), from up to that many threads.

    Args: stop is looked at before every piece, None means never; workers at least 1; chunk_size pieces are
    taken at a time and run in ascending order, less than 1 means 1.
    Raises: the first exception of fn; ValueError for less than one worker.
    Blocks: until all threads have ended. Whether stop cut the work short is for the caller to look up.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    run = _Run(stop, pieces, fn, max(chunk_size, 1))
    threads = [spawn(f"parallelize-{i}", run.work) for i in range(min(workers, run.chunk_count))]
    for thread in threads:
        thread.join()
    if run.first_error is not None:
        raise run.first_error


class _Run:
    """
    One call of parallelize_until.

    State, guarded by `_lock` (rank 95): `_next_chunk`, the first one not taken; `first_error`, read after
    joining.
    """

    def __init__(
        self, stop: threading.Event | None, pieces: int, fn: Callable[[int], None], size: int
    ) -> None:
        self.chunk_count = -(-pieces // size)
        self.first_error: BaseException | None = None
        self._stop = stop
        self._pieces = pieces
        self._fn = fn
        self._size = size
        self._lock = new_lock("Parallelizer._lock", _LEAF_RANK)
        self._next_chunk = 0

    def work(self) -> None:
        """Run chunks until there are none, stop is set or fn raises."""
        try:
            while (chunk := self._take_chunk()) is not None:
                for piece in chunk:
                    if self._stop is not None and self._stop.is_set():
                        return
                    self._fn(piece)
        except BaseException as err:  # noqa: BLE001 - it is raised again by the thread that waits
            self._keep(err)

    def _take_chunk(self) -> range | None:
        with self._lock:
            if self._next_chunk == self.chunk_count:
                return None
            start = self._next_chunk * self._size
            self._next_chunk += 1
            return range(start, min(start + self._size, self._pieces))

    def _keep(self, err: BaseException) -> None:
        log.error("A piece of parallel work failed", err=str(err))
        with self._lock:
            if self.first_error is None:
                self.first_error = err
