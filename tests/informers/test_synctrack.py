from __future__ import annotations

import threading

import pytest

from handloop.informers.synctrack import AsyncTracker, Lazy, SingleFileTracker, SyncTrackError


class Upstream:
    def __init__(self, *, synced: bool) -> None:
        self.synced = synced

    def has_synced(self) -> bool:
        return self.synced


def test_nothing_started_is_synced_with_upstream() -> None:
    """INF-28: without work, has_synced is upstream's, and sticks."""
    upstream = Upstream(synced=False)
    tracker = SingleFileTracker(upstream.has_synced)
    assert not tracker.has_synced()
    upstream.synced = True
    assert tracker.has_synced()
    upstream.synced = False
    assert tracker.has_synced()


def test_started_work_must_be_finished() -> None:
    """INF-28: work that was started keeps it unsynced until as much is finished."""
    tracker = SingleFileTracker(lambda: True)
    tracker.start(2)
    assert not tracker.has_synced()
    tracker.finished()
    assert not tracker.has_synced()
    tracker.finished()
    assert tracker.has_synced()


def test_finishing_more_than_was_started_is_an_error() -> None:
    """INF-28: the count never goes below zero."""
    tracker = SingleFileTracker(lambda: True)
    tracker.start()
    with pytest.raises(SyncTrackError, match="finished 2 of 1"):
        tracker.finished(2)


def test_upstream_is_asked_before_the_count() -> None:
    """INF-28: work that starts while upstream is asked counts."""

    def upstream() -> bool:
        tracker.start()
        return True

    tracker = SingleFileTracker(upstream)
    assert not tracker.has_synced()


def test_async_tracker_counts_by_key() -> None:
    """INF-28: each key is waited for once; finishing one that was not started is harmless."""
    upstream = Upstream(synced=False)
    tracker: AsyncTracker[str] = AsyncTracker(upstream.has_synced)
    tracker.finished("never started")
    tracker.start("a")
    tracker.start("a")
    tracker.start("b")
    assert not tracker.has_synced()
    upstream.synced = True
    assert not tracker.has_synced()
    tracker.finished("b")
    tracker.finished("a")
    tracker.finished("a")
    assert tracker.has_synced()
    tracker.start("c")
    assert tracker.has_synced()


def test_lazy_value_is_computed_once_until_notified() -> None:
    """INF-29: gets share one evaluation; a get after notify never returns an older value."""
    evaluations: list[int] = []

    def evaluate() -> int:
        evaluations.append(1)
        return len(evaluations)

    lazy = Lazy(evaluate)
    assert (lazy.get(), lazy.get()) == (1, 1)
    lazy.notify()
    assert (lazy.get(), lazy.get()) == (2, 2)


def test_lazy_error_is_not_kept() -> None:
    """INF-29: a failed evaluation is tried again by the next get."""
    answers: list[int | Exception] = [ValueError("not now"), 7]

    def evaluate() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    lazy = Lazy(evaluate)
    with pytest.raises(ValueError, match="not now"):
        lazy.get()
    assert lazy.get() == 7


def test_notify_during_an_evaluation_is_not_lost() -> None:
    """INF-29: a value whose evaluation began before a notify is not served after it."""
    values = [1, 2]

    def evaluate() -> int:
        value = values.pop(0)
        if value == 1:
            lazy.notify()
        return value

    lazy = Lazy(evaluate)
    assert lazy.get() == 1
    assert lazy.get() == 2


def test_concurrent_gets_evaluate_once() -> None:
    """INF-29: while one get computes, the others wait for its value."""
    computing, go_on = threading.Event(), threading.Event()
    evaluations: list[int] = []

    def evaluate() -> int:
        evaluations.append(1)
        computing.set()
        assert go_on.wait(10)
        return 5

    lazy = Lazy(evaluate)
    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.append(lazy.get())) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert computing.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert got == [5, 5, 5, 5]
    assert evaluations == [1]
