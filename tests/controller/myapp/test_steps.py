"""The results of the steps of a reconcile."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from handloop.controller.myapp.reconciler import Steps
from handloop.controller.runtime.children.owner_references import NameTakenError
from handloop.controller.runtime.reconcile import Deadline, DeadlineExceededError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.testing.fake_clock import FakeClock
from support.checks.api_errors import api_error


def raising(error: BaseException) -> Callable[[], None]:
    """A step that fails."""

    def step() -> None:
        raise error

    return step


def test_a_step_that_is_done_shows_what_it_made() -> None:
    """And nothing else is noted."""
    steps = Steps(Context(), [], [])
    assert steps.take("Service", lambda: "made") == "made"
    assert (steps.failures, steps.waits) == ([], [])


def test_each_end_of_a_step_is_noted_as_what_it_is() -> None:
    """A refusal with its step, a taken name in its own words, a wait as no failure."""
    steps = Steps(Context(), [], [])
    for error in (
        api_error(403, "Forbidden", "no"),
        NameTakenError("Service is theirs"),
        WaitError("not gone yet"),
    ):
        assert steps.take("Service", raising(error)) is None
    assert [text.partition(" (")[0] for text in steps.failures] == ["Service: no", "Service is theirs"]
    assert steps.waits == ["not gone yet"]


@pytest.mark.parametrize(
    "error",
    [api_error(429, "TooManyRequests", retry_after_seconds=7), api_error(409, "Conflict")],
    ids=["a server that asks for time", "a lost race"],
)
def test_an_answer_that_is_no_trouble_of_the_myapp(error: Exception) -> None:
    """The reconcile ends at once with it, and the queue obeys it: no request follows."""
    steps = Steps(Context(), [], [])
    with pytest.raises(type(error)) as raised:
        steps.take("Service", raising(error))
    assert raised.value is error
    assert (steps.failures, steps.waits) == ([], [])


def test_no_step_begins_after_the_deadline() -> None:
    """A stop of the program alone lets the other steps be taken: a MyApp is not left half done."""
    clock, stop = FakeClock(), threading.Event()
    steps = Steps(Context(deadline=Deadline(60, stop=stop, clock=clock)), [], [])
    stop.set()
    assert steps.take("Service", lambda: "made") == "made"
    clock.advance(60)
    with pytest.raises(DeadlineExceededError):
        steps.take("Service", lambda: "made")


@pytest.mark.parametrize("error", [ZeroDivisionError("bug"), OSError("bug")])
def test_what_is_no_end_of_a_step_ends_all(error: Exception) -> None:
    """A bug is not noted as the trouble of one child."""
    steps = Steps(Context(), [], [])
    with pytest.raises(type(error)):
        steps.take("Service", raising(error))
    assert steps.failures == []
