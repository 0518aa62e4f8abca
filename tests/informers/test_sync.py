from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind
from handloop.controller.foo.types import Foo
from handloop.informers.sync import (
    DoneChecker,
    SyncResult,
    wait_for,
    wait_for_cache_sync,
    wait_for_named_cache_sync,
)
from support.fake_clock import FakeClock


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


def test_sync_is_polled_ten_times_a_second() -> None:
    """cache.md 8.8: the first look is at once; then every 100 ms until all are synced in one pass."""
    clock = FakeClock(moves_itself=True)
    assert wait_for_cache_sync(threading.Event(), After(2), always, After(3), clock=clock)
    assert clock.slept == [0.1] * 5


def test_nothing_to_wait_for_is_synced() -> None:
    """cache.md 8.8: no functions, no waiting, also when stopped."""
    stop = threading.Event()
    stop.set()
    assert wait_for_cache_sync(stop, clock=FakeClock(moves_itself=True))
    assert wait_for_cache_sync(stop, always, clock=FakeClock(moves_itself=True))


def test_stop_ends_the_wait_unsynced() -> None:
    """cache.md 8.8: a stop while waiting means False."""
    stop = threading.Event()
    assert not wait_for_cache_sync(stop, never, clock=StopAt(5, stop))


def test_waiter_drives_the_progress_lines() -> None:
    """Every look that finds something missing ticks; the last one says that it is over, a stop does not."""
    progress = RecordingProgress()
    assert wait_for_cache_sync(
        threading.Event(), After(2), clock=FakeClock(moves_itself=True), progress=progress
    )
    assert progress.calls == ["tick", "tick", "finished"]
    stop = threading.Event()
    progress = RecordingProgress()
    wait_for_cache_sync(stop, never, clock=StopAt(0, stop), progress=progress)
    assert progress.calls == ["tick"]


@pytest.mark.parametrize(
    ("check", "synced", "last"),
    [(always, True, "Caches are synced"), (never, False, "Unable to sync caches")],
)
def test_named_wait_says_what_it_does(check: Callable[[], bool], synced: bool, last: str) -> None:
    """cache.md 8.8: a line before and one after, with the controller's name."""
    stop = threading.Event()
    with capture_logs() as logs:
        assert wait_for_named_cache_sync("Foo", stop, check, clock=StopAt(1, stop)) is synced
    assert [entry["event"] for entry in logs] == ["Waiting for caches to sync", last]
    assert {entry["controller"] for entry in logs} == {"Foo"}


def test_wait_for_is_true_when_all_are_done() -> None:
    """INF-26: each one that is not done yet is waited for by name; those that are done are not mentioned."""
    with capture_logs() as logs:
        done = wait_for(
            threading.Event(),
            "caches",
            DoneChecker("slow", After(3)),
            DoneChecker("done", always),
            clock=FakeClock(moves_itself=True),
        )
    assert done
    assert [(entry["event"], entry["name"]) for entry in logs] == [
        ("Waiting", "slow"),
        ("Done waiting", "slow"),
    ]


def test_wait_for_names_what_was_not_done() -> None:
    """INF-26: stopped, it is False, and the missing names are listed, sorted; done ones count as done."""
    stop = threading.Event()
    checkers = [DoneChecker(name, never) for name in ("z", "a")]
    with capture_logs() as logs:
        assert not wait_for(stop, "caches", *checkers, DoneChecker("ok", always), clock=StopAt(2, stop))
    assert logs[-1]["event"] == "Timed out waiting"
    assert logs[-1]["names"] == ["a", "z"]


def test_what_is_done_at_the_stop_counts() -> None:
    """INF-26: a checker is asked once more when the wait has been stopped."""
    stop = threading.Event()
    stop.set()
    assert wait_for(stop, "caches", DoneChecker("late", After(1)), clock=FakeClock(moves_itself=True))
    assert not wait_for(stop, "caches", DoneChecker("never", never), clock=FakeClock(moves_itself=True))


def test_wait_for_nothing_is_done() -> None:
    """INF-26: no checkers, no waiting."""
    assert wait_for(threading.Event(), "caches", clock=FakeClock(moves_itself=True))


def test_wait_for_nobody_is_silent() -> None:
    """INF-26: with an empty purpose nothing is logged, done or not."""
    stop = threading.Event()
    with capture_logs() as logs:
        wait_for(stop, "", DoneChecker("slow", After(1)), DoneChecker("never", never), clock=StopAt(3, stop))
    assert logs == []


def test_result_without_gaps_is_no_error() -> None:
    """INF-27: all synced."""
    assert SyncResult({Foo: True, Deployment: True}, "stopped").error() is None


def test_result_names_what_is_missing() -> None:
    """INF-27: the error lists the unsynced kinds, sorted, and why the wait ended."""
    synced: dict[type[Kind], bool] = {Foo: False, Deployment: False}
    error = SyncResult(synced, "stopped").error()
    assert error is not None
    assert error.unsynced == ["deployments.apps/v1", "foos.samplecontroller.k8s.io/v1alpha1"]
    assert (
        str(error)
        == "failed to sync all caches: deployments.apps/v1, foos.samplecontroller.k8s.io/v1alpha1: stopped"
    )
