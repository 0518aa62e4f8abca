"""The twelve steps are reported while a sink listens, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.seams.step_trace import TRACE, StepTrace
from handloop.testing.eventually import eventually
from support.rigs.managed_sandbox import ManagedSandbox

Told = list[tuple[int, str, str, dict[str, Any]]]


@pytest.fixture
def told() -> Iterator[Told]:
    """The steps that the process's trace reports during the test."""
    steps: Told = []
    TRACE.start(lambda *step: steps.append(step))
    yield steps
    TRACE.stop()


def test_nothing_is_reported_without_a_sink() -> None:
    """Before the first sink, and after it has gone."""
    trace = StepTrace()
    steps: Told = []
    trace.tell(8, "queue", "a")
    trace.start(lambda *step: steps.append(step))
    trace.tell(8, "queue", "a", waiting=0)
    trace.stop()
    trace.tell(8, "queue", "b")
    assert steps == [(8, "queue", "a", {"waiting": 0})]


def test_every_step_of_a_foo_is_reported(told: Told) -> None:
    """From the bytes to the write and back, each with the key, and with what the step's part knows."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    add_foo(manager, workers=1)
    # refused once: so there is a retry, too
    cluster.sandbox.faults.error(500, verbs=["create"], resources=["deployments"], count=1)
    with cluster.running(manager):
        cluster.foo("a", deployment="b")
        eventually(lambda: told_steps(told) == set(range(1, 13)), "all twelve steps")
        eventually(lambda: step(told, 10, "deployments.apps", "default/"), "the write")
        # the retry may be due before the failure is reported, so the first end may be none
        eventually(lambda: (12, "foo", "default/a", {"again": False}) in told, "the end")
    assert step(told, 11, "foo", "default/a") == {"seconds": 0.005, "failures": 1}
    assert step(told, 9, "foos", "default/a") == {"found": True}
    assert step(told, 5, "Foo", "default/a") == {"objects": 1, "new": True}


def told_steps(told: Told) -> set[int]:
    """The numbers of the steps so far."""
    return {number for number, *_ in told}


def step(told: Told, number: int, component: str, key: str) -> dict[str, Any]:
    """The facts of the first such step; empty before it."""
    return next((facts for found, *what, facts in told if (found, *what) == (number, component, key)), {})
