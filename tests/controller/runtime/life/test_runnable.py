"""Runnables that start and stop together."""

from __future__ import annotations

import threading

from handloop.controller.runtime.life.runnable import RunnableGroup
from handloop.testing.eventually import eventually as until


class Waiter:
    """Runs until its stop."""

    def __init__(self, name: str, error: BaseException | None = None) -> None:
        self.name = name
        self._error = error
        self.began = threading.Event()

    def run(self, stop: threading.Event) -> None:
        self.began.set()
        if self._error is not None:
            raise self._error
        stop.wait(20)


def test_a_failure_is_reported_and_ends_no_other() -> None:
    """What to do about it is the manager's business."""
    stop = threading.Event()
    failures: list[tuple[str, str]] = []
    good = Waiter("good")
    bad = Waiter("bad", SystemExit("gone"))
    group = RunnableGroup([bad, good], on_failure=lambda name, error: failures.append((name, str(error))))
    group.start(stop, stop)
    until(lambda: failures, "told", seconds=20)
    assert failures == [("bad", "gone")]
    assert group.join(0.01) == ["good"]
    stop.set()
    assert group.join(20) == []


class First(Waiter):
    """Ends before the others."""

    ends_first = True


def test_others_have_a_stop_of_their_own() -> None:
    """Which comes when those have ended that end first."""
    stop, stop_rest = threading.Event(), threading.Event()
    group = RunnableGroup([First("worker"), Waiter("pool")], on_failure=print)
    group.start(stop, stop_rest)
    assert group.join(0.01, first=True) == ["worker"]
    stop.set()
    assert group.join(20, first=True) == []
    assert group.join(0.01) == ["pool"]
    stop_rest.set()
    assert group.join(20) == []
