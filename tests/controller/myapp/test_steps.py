"""What becomes of the steps of a reconcile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handloop.client.errors import TooManyRequests
from handloop.controller.myapp.reconciler import Steps
from handloop.controller.runtime.context import NameTakenError
from handloop.controller.runtime.reconcile import DeadlineExceededError, WaitError
from support.api_errors import api_error


def raising(error: BaseException) -> Callable[[], None]:
    """A step that fails."""

    def step() -> None:
        raise error

    return step


def test_a_step_that_is_done_says_what_it_made() -> None:
    """And nothing else is noted."""
    steps = Steps()
    assert steps.take("Service", lambda: "made") == "made"
    assert (steps.failures, steps.waits, steps.lost) == ([], [], None)


def test_each_end_of_a_step_is_noted_as_what_it_is() -> None:
    """A refusal with its step, a taken name in its own words, a wait as no failure, a lost race by itself."""
    steps = Steps()
    conflict = api_error(409, "Conflict")
    for error in (
        api_error(403, "Forbidden", "no"),
        NameTakenError("Service is theirs"),
        WaitError("not gone yet"),
        conflict,
    ):
        assert steps.take("Service", raising(error)) is None
    assert [text.partition(" (")[0] for text in steps.failures] == ["Service: no", "Service is theirs"]
    assert steps.waits == ["not gone yet"]
    assert steps.lost is conflict


def test_a_server_that_asks_for_time_is_no_trouble_of_the_myapp() -> None:
    """The reconcile ends at once with that answer, which the queue obeys: no request follows it."""
    steps = Steps()
    limited = api_error(429, "TooManyRequests", retry_after_seconds=7)
    with pytest.raises(TooManyRequests) as raised:
        steps.take("Service", raising(limited))
    assert raised.value is limited
    assert (steps.failures, steps.lost) == ([], None)


@pytest.mark.parametrize("error", [ZeroDivisionError("bug"), DeadlineExceededError("stopping")])
def test_what_is_no_end_of_a_step_ends_all(error: Exception) -> None:
    """A bug, or the time that is up, is not noted as the trouble of one child."""
    steps = Steps()
    with pytest.raises(type(error)):
        steps.take("Service", raising(error))
    assert steps.failures == []
