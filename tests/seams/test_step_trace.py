"""The twelve steps are reported while a sink listens, and only then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from handloop.controller.foo.runnable import add_foo, add_plain_foo
from handloop.controller.foo.types import Foo
from handloop.seams.step_trace import StepTrace, handled_error, short_text
from handloop.testing.eventually import eventually
from support.checks.told_steps import NO, Told, told_steps
from support.rigs.managed_sandbox import ManagedSandbox


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


def test_a_thread_has_a_key_from_the_get_to_the_done() -> None:
    """Another thread has none meanwhile; nor has one whose get was before the sink came."""
    trace = StepTrace()
    trace.start(lambda *_: None)
    has_key = [trace.has_key()]
    trace.tell(8, "queue", "a")
    has_key.append(trace.has_key())
    other = threading.Thread(target=lambda: has_key.append(trace.has_key()))
    other.start()
    other.join()
    trace.tell(12, "queue", "a")
    has_key.append(trace.has_key())
    trace.tell(8, "queue", "a")
    trace.start(lambda *_: None)
    has_key.append(trace.has_key())
    assert has_key == [False, True, False, False, False]


class UntoldError(Exception):
    """One whose text cannot be made."""

    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (KeyError(), "KeyError"),
        (UntoldError(), "UntoldError"),
        (ValueError("x" * 500), f"ValueError: {'x' * 187}…"),
    ],
)
def test_an_error_is_told_in_short(error: Exception, text: str) -> None:
    """One line of at most 200 characters."""
    assert short_text(error) == text


def test_the_handled_error_is_that_of_the_thread() -> None:
    """Within its except block, and nowhere else."""
    try:
        int("no")
    except ValueError:
        assert handled_error() == NO
    assert handled_error() == ""


@pytest.mark.parametrize("add", [add_foo, add_plain_foo])
def test_every_step_of_a_foo_is_reported(add: Callable[..., object]) -> None:
    """From the bytes to the write and back, each with the key, and with what the step's part knows."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    add(manager, workers=1)
    # refused once: so there is a retry, too
    cluster.sandbox.faults.error(500, verbs=["create"], resources=["deployments"], count=1)
    with told_steps() as told, cluster.running(manager):
        cluster.foo("a", deployment="b")
        eventually(lambda: {number for number, *_ in told} == set(range(1, 13)), "all twelve steps")
        eventually(lambda: step(told, 10, "deployments.apps", "default/"), "the write")
        # the retry may be due before the failure is reported, so the first end may be none
        eventually(lambda: (12, "foo", "default/a", {"again": False}) in told, "the end")
    failed = step(told, 11, "foo", "default/a")
    assert failed.pop("error").startswith("InternalError: ")
    assert failed == {"seconds": 0.005, "failures": 1}
    read = step(told, 9, "foos", "default/a")
    assert int(read.pop("version")) > 0
    assert read == {"found": True, "worker": True}
    stored = step(told, 5, "Foo", "default/a")
    assert int(stored.pop("version")) > 0
    assert stored == {"objects": 1, "new": True, "resync": False}
    assert not [facts for number, *_, facts in told if number == 10 and facts["verb"] in ("list", "watch")]


def step(told: Told, number: int, component: str, key: str) -> dict[str, Any]:
    """The facts of the first such step; empty before it."""
    return next((facts for found, *what, facts in told if (found, *what) == (number, component, key)), {})
