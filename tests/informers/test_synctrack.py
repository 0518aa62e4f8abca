from __future__ import annotations

import pytest

from handloop.informers.processor import SingleFileTracker, SyncTrackError


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
