from __future__ import annotations

import threading

import pytest
from structlog.testing import capture_logs

from handloop.workqueue.parallelizer import parallelize_until


class Visits:
    """Counts the calls per index."""

    def __init__(self, pieces: int) -> None:
        self.counts = [0] * pieces
        self.threads: set[str] = set()
        self._lock = threading.Lock()

    def visit(self, index: int) -> None:
        with self._lock:
            self.counts[index] += 1
            self.threads.add(threading.current_thread().name)


@pytest.mark.parametrize(
    ("pieces", "workers", "chunk_size"), [(1000, 10, 1), (1000, 10, 10), (1000, 10, 100), (999, 10, 13)]
)
def test_each_index_is_visited_once(pieces: int, workers: int, chunk_size: int) -> None:
    """
    PAR-01 to PAR-04: whatever the chunks, each index is visited exactly once.

    Follows TestParallelizeUntil.
    """
    visits = Visits(pieces)
    parallelize_until(None, workers, pieces, visits.visit, chunk_size=chunk_size)

    assert visits.counts == [1] * pieces
    assert visits.threads <= {f"parallelize-{n}" for n in range(workers)}


def test_no_pieces_no_calls() -> None:
    """PAR-05: without pieces nothing is called and no thread is started."""
    visits = Visits(0)
    parallelize_until(None, 10, 0, visits.visit)

    assert visits.threads == set()


def test_stopped_before_the_start() -> None:
    """PAR-06: when stop is set beforehand no piece runs."""
    stop = threading.Event()
    stop.set()
    visits = Visits(100)
    parallelize_until(stop, 10, 100, visits.visit)

    assert visits.counts == [0] * 100


def test_stop_is_looked_at_before_every_piece() -> None:
    """A stop inside a chunk ends the chunk after the piece that runs."""
    stop = threading.Event()
    visits = Visits(100)

    def visit(index: int) -> None:
        visits.visit(index)
        if index == 3:
            stop.set()

    parallelize_until(stop, 1, 100, visit, chunk_size=50)

    assert visits.counts == [1] * 4 + [0] * 96


def test_no_more_threads_than_chunks() -> None:
    """Two chunks need two threads; pieces of a chunk run in ascending order; a chunk size below 1 means 1."""
    order: list[int] = []
    parallelize_until(None, 1, 5, order.append, chunk_size=0)
    assert order == [0, 1, 2, 3, 4]

    names: list[str] = []

    class Done:
        def join(self, timeout: float | None = None) -> None: ...

        def is_alive(self) -> bool:
            return False

    def spawn(name: str, _target: object) -> Done:
        names.append(name)
        return Done()

    parallelize_until(None, 10, 20, order.append, chunk_size=10, spawn=spawn)
    assert names == ["parallelize-0", "parallelize-1"]


def test_an_exception_ends_only_its_thread_and_is_raised_at_the_end() -> None:
    """The other pieces still run; the first exception reaches the caller, the others are logged."""
    visits = Visits(6)
    both_failed = threading.Barrier(2)

    def visit(index: int) -> None:
        visits.visit(index)
        if index < 2:
            both_failed.wait(20)
            raise ValueError(f"piece {index}")

    with capture_logs() as logs, pytest.raises(ValueError, match="piece"):
        parallelize_until(None, 3, 6, visit)

    assert visits.counts == [1] * 6
    assert sorted(entry["err"] for entry in logs) == ["piece 0", "piece 1"]


def test_without_workers_nothing_could_be_done() -> None:
    """Less than one worker is an error, not a silent nothing."""
    with pytest.raises(ValueError, match="workers must be at least 1"):
        parallelize_until(None, 0, 1, print)
