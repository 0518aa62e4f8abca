from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest

from handloop.seams.threads import Joinable, join_all, outliving, side_by_side, spawn_thread
from handloop.testing.fake_clock import FakeClock
from support.checks.threads import StuckThread


def test_a_spawned_thread_runs_its_target_under_its_name() -> None:
    """The target runs in a daemon thread of that name, which can be joined."""
    seen: list[threading.Thread] = []
    go = threading.Event()

    def target() -> None:
        assert go.wait(20)
        seen.append(threading.current_thread())

    thread = spawn_thread("worker-1", target)
    assert thread.is_alive()
    go.set()
    thread.join()

    assert not thread.is_alive()
    assert [(t.name, t.daemon) for t in seen] == [("worker-1", True)]


class _Inheriting(threading.Thread):
    """A thread of a free-threaded Python 3.14."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._starter = copy_context()

    def run(self) -> None:
        self._starter.run(super().run)


def test_a_spawned_thread_has_an_empty_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reconcile that starts an informer does not make its handlers wait for caches as reconciles do."""
    monkeypatch.setattr(threading, "Thread", _Inheriting)
    reader, seen = ContextVar("reader", default="nobody"), []
    reader.set("reconcile")
    spawn_thread("listener", lambda: seen.append(reader.get())).join()
    assert seen == ["nobody"]


class _Ending:
    """A thread that ends as soon as it is waited for, and notes for how long that would have been."""

    def __init__(self) -> None:
        self.timeouts: list[float | None] = []

    def join(self, timeout: float | None = None) -> None:
        self.timeouts.append(timeout)

    def is_alive(self) -> bool:
        return not self.timeouts


def test_threads_are_waited_for_together() -> None:
    """The limit is for all of them; those that have ended are not named, however late their turn came."""
    clock, good = FakeClock(), _Ending()
    threads: dict[str, Joinable] = {"a": StuckThread(clock), "good": good, "b": StuckThread(clock)}
    assert join_all(threads, 3.0, clock) == ["a", "b"]
    assert clock.now() == 3.0
    assert good.timeouts == [0.0]


def test_threads_may_be_waited_for_without_a_limit() -> None:
    """None, as threading wants it."""
    good = _Ending()
    assert join_all({"good": good}, math.inf, FakeClock()) == []
    assert good.timeouts == [None]


def test_calls_run_side_by_side_and_keep_their_order() -> None:
    """No more than asked for run at once, and each of these waits for the other."""
    both = threading.Barrier(2, timeout=20)

    def call(number: int) -> tuple[int, str]:
        both.wait()
        return number, threading.current_thread().name

    answers = side_by_side("ask", [partial(call, number) for number in range(4)], spawn_thread, at_once=2)
    assert [number for number, _ in answers] == [0, 1, 2, 3]
    assert {name for _, name in answers} == {threading.current_thread().name, "ask-1"}


def test_the_first_call_that_failed_is_the_error() -> None:
    """Also when a later one failed earlier; after it no further one begins."""
    late, begun = threading.Event(), list[int]()

    def call(number: int) -> None:
        begun.append(number)
        if number == 0:
            assert late.wait(20)
        late.set()
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        side_by_side("ask", [partial(call, number) for number in range(9)], spawn_thread, at_once=2)
    assert begun == [0, 1]


def test_nothing_to_call_is_no_thread() -> None:
    """Nor is one call: it runs on our own."""

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        raise AssertionError(name)

    assert side_by_side("ask", list[Callable[[], int]](), spawn, at_once=4) == []
    assert side_by_side("ask", [lambda: 1], spawn, at_once=4) == [1]


@pytest.mark.parametrize("error", [ValueError("odd"), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("fails", [False, True], ids=["log", "broken log"])
def test_a_loop_outlives_a_turn(error: BaseException, fails: bool) -> None:
    """Whatever it raises is one line, and costs that turn; a log that cannot be written costs the line."""
    log = Mock()
    if fails:
        log.error.side_effect = OSError("no space left on device")
    turns = []
    for turn in range(2):
        with outliving(log, "Turn failed", turn=turn):
            turns.append(turn)
            raise error
    assert turns == [0, 1]
    assert [call.args for call in log.error.mock_calls] == [("Turn failed",)] * 2
