from __future__ import annotations

import math
import threading
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from handloop.seams.threads import Joinable, join_all, spawn_thread
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
