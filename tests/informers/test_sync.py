"""
Waiting for caches.

Upstream's wait_for with names, and its error that lists missing caches, have no subject here. The progress of
a wait names the caches that are not filled: test_progress.py.
"""

from __future__ import annotations

import threading

import pytest

from handloop.informers.sync import poll_seconds, wait_for_cache_sync
from handloop.testing.fake_clock import FakeClock


class After:
    """False for so many calls, then True."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def never() -> bool:
    return False


def always() -> bool:
    return True


class StopAt(FakeClock):
    """Sets stop when a given time is reached."""

    def __init__(self, at: float, stop: threading.Event) -> None:
        super().__init__(moves_itself=True)
        self._at = at
        self._stop_event = stop

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        super().sleep(seconds, stop)
        if self.now() >= self._at:
            self._stop_event.set()
        return stop.is_set()


class RecordingProgress:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def tick(self) -> None:
        self.calls.append("tick")

    def finished(self) -> None:
        self.calls.append("finished")


def test_sync_is_polled_until_all_are_synced_in_one_pass() -> None:
    """The first look is at once; the next ones come quickly."""
    clock = FakeClock(moves_itself=True)
    assert wait_for_cache_sync(threading.Event(), After(2), always, After(3), clock=clock)
    assert clock.slept == [0.005] * 5


def test_nothing_to_wait_for_is_synced() -> None:
    """No functions, no waiting, also when stopped."""
    stop = threading.Event()
    stop.set()
    assert wait_for_cache_sync(stop, clock=FakeClock(moves_itself=True))
    assert wait_for_cache_sync(stop, always, clock=FakeClock(moves_itself=True))


def test_stop_ends_the_wait_unsynced() -> None:
    """A stop while waiting means False."""
    stop = threading.Event()
    assert not wait_for_cache_sync(stop, never, clock=StopAt(5, stop))


def test_waiter_drives_the_progress_lines() -> None:
    """Every look that finds a missing cache ticks; the last one reports the end, a stop does not."""
    progress = RecordingProgress()
    assert wait_for_cache_sync(
        threading.Event(), After(2), clock=FakeClock(moves_itself=True), progress=progress
    )
    assert progress.calls == ["tick", "tick", "finished"]
    stop = threading.Event()
    progress = RecordingProgress()
    wait_for_cache_sync(stop, never, clock=StopAt(0, stop), progress=progress)
    assert progress.calls == ["tick"]


@pytest.mark.parametrize(("waited", "seconds"), [(0.0, 0.005), (0.08, 0.01), (0.4, 0.05), (60.0, 0.1)])
def test_a_wait_looks_again_after_an_eighth_of_itself(waited: float, seconds: float) -> None:
    """So a list of 30 ms is noticed within a few, and one that never comes costs ten looks a second."""
    assert poll_seconds(waited) == pytest.approx(seconds)
