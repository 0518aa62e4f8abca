"""News from outside of the cluster."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sources.external_source import MOST_QUEUED, ExternalSource, Wake
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.keys import ObjectName
from handloop.seams.logs import in_words
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.doubles.unspeakable import UNSPEAKABLE
from support.rigs.managed_sandbox import ManagedSandbox

A = ObjectName("default", "a")


class Sink:
    """What was queued; waiting = how many names wait for a worker."""

    def __init__(self) -> None:
        self.added: list[tuple[ObjectName, str, int]] = []
        self.waiting = 0

    def add(self, name: ObjectName, cause: Cause, *, priority: int = 0, version: str = "") -> None:
        self.added.append((name, str(cause), priority))


def source(function: Any, sink: Sink, clock: FakeClock) -> ExternalSource:
    """A source of the controller `users`."""
    return ExternalSource(
        "database",
        function,
        controller="users",
        sink=sink,
        queued=lambda: sink.waiting,
        needs_leader_election=True,
        seams=Seams(clock=clock),
    )


def test_news_reconcile_the_names_they_concern() -> None:
    """The context shows the source; the source ends with its controller."""
    news: queue.Queue[str] = queue.Queue()
    ended = threading.Event()

    def read(wake: Wake, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                wake(ObjectName("default", news.get(timeout=0.01)), "row 7")
            except queue.Empty:
                continue
        ended.set()

    cluster = ManagedSandbox(Foo)
    manager: Manager = cluster.manager()
    causes: list[str] = []

    def reconcile(_foo: Foo, context: Context) -> None:
        causes.extend(context.causes)

    controller_for(manager, "users").for_(Foo).source("database", read).complete(reconcile)
    cluster.foo("a")
    with cluster.running(manager):
        eventually(lambda: "Foo default/a listed" in causes, "reconciled")
        news.put("a")
        eventually(lambda: "database row 7" in causes, "woken")
    assert ended.is_set()


def test_a_source_waits_while_many_names_do() -> None:
    """It goes on as they are taken, and a stop ends the wait."""
    sink, stop, clock = Sink(), threading.Event(), FakeClock()
    answers: list[bool] = []

    def read(wake: Wake, _stop: threading.Event) -> None:
        answers.append(wake(A, priority=5))
        sink.waiting = MOST_QUEUED
        answers.append(wake(A))

    running = Background(lambda: source(read, sink, clock).run(stop))
    clock.wait_for_waiters(1)
    assert sink.added == [(A, "database", 5)]
    stop.set()
    clock.advance(1)
    running.result()
    assert answers == [True, False]


@pytest.mark.parametrize(
    "error",
    [OSError("gone"), SystemExit(3), KeyboardInterrupt(), *UNSPEAKABLE],
    ids=lambda error: type(error).__name__,
)
def test_a_source_that_fails_is_called_again(error: BaseException) -> None:
    """Later each time, also if a library ends the program; a bug in its names is told, too."""
    sink, stop, clock = Sink(), threading.Event(), FakeClock()
    calls: list[float] = []

    def read(wake: Wake, _stop: threading.Event) -> None:
        calls.append(clock.now())
        if len(calls) == 1:
            raise error
        if len(calls) == 2:
            wake("default/a")  # type: ignore[arg-type]
        wake(A)

    with captured_logs() as logs:
        running = Background(lambda: source(read, sink, clock).run(stop))
        for _ in range(2):
            clock.wait_for_waiters(1)
            clock.advance(10)
        running.result()
    assert len(calls) == 3
    assert sink.added == [(A, "database", 0)]
    told = [(line["event"], line["log_level"]) for line in logs]
    assert told == [("Source failed", "error"), ("Source failed", "error"), ("Source has ended", "info")]
    assert logs[0]["err"] == in_words(error, repr)
    assert "wake needs an ObjectName, not 'default/a'" in logs[1]["err"]


def test_what_is_no_function_is_refused() -> None:
    """Where the builder is called."""
    what: Any = "queue"
    with pytest.raises(TypeError, match="a source must be a function"):
        controller_for(ManagedSandbox().manager(), "users").source("queue", what)
