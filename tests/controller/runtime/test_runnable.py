"""Runnables that start and stop together."""

from __future__ import annotations

import threading

from handloop.controller.runtime.runnable import RunnableGroup, WorkersBusyError, needs_leader_election
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


class Free(Waiter):
    """Runs also while another process leads."""

    needs_leader_election = False


def test_without_a_choice_a_runnable_needs_to_lead() -> None:
    """Two processes at once are the worse mistake."""
    assert needs_leader_election(Waiter("a"))
    assert not needs_leader_election(Free("b"))


def test_all_run_until_the_stop() -> None:
    """Each on a thread that carries its name."""
    stop = threading.Event()
    waiters = [Waiter("a"), Waiter("b")]
    failures: list[str] = []
    group = RunnableGroup(waiters, on_failure=lambda name, _error: failures.append(name))
    group.start(stop)
    assert all(waiter.began.wait(20) for waiter in waiters)
    assert {"run-a", "run-b"} <= {thread.name for thread in threading.enumerate()}
    assert group.join(0.01) == ["a", "b"]
    stop.set()
    assert group.join() == []
    assert failures == []


def test_a_failure_is_reported_and_ends_no_other() -> None:
    """What to do about it is the manager's business."""
    stop = threading.Event()
    failures: list[tuple[str, str]] = []
    good = Waiter("good")
    bad = Waiter("bad", SystemExit("gone"))
    group = RunnableGroup([bad, good], on_failure=lambda name, error: failures.append((name, str(error))))
    group.start(stop)
    until(lambda: failures, "told", seconds=20)
    assert failures == [("bad", "gone")]
    assert group.join(0.01) == ["good"]
    stop.set()
    assert group.join(20) == []


def test_an_empty_group_ends_at_once() -> None:
    """Nothing to start, nothing to wait for."""
    assert RunnableGroup([], on_failure=lambda _name, _error: None).join() == []


def test_who_is_left_behind_is_named() -> None:
    """The message has the names, the number, and the time."""
    assert str(WorkersBusyError("foo", 2, 30)) == "foo: 2 workers did not end in 30s"
