"""The contract between a controller and a reconciler."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest

from handloop.controller.runtime.reconcile import (
    DONE,
    Result,
)


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_a_result_that_names_no_time_is_refused(seconds: float) -> None:
    """A computed delay that went wrong is noticed where it was made."""
    with pytest.raises(ValueError, match="requeue_after"):
        Result(requeue_after=seconds)


@pytest.mark.parametrize(
    ("after", "message"),
    [(timedelta(minutes=1), r"seconds=60\): pass its \.total_seconds\(\)$"), ("60", "not '60'$")],
)
def test_a_time_that_is_no_number_is_refused(after: Any, message: str) -> None:
    """With the way, where it is certain."""
    with pytest.raises(TypeError, match=message):
        Result(requeue_after=after)


def test_done_asks_for_nothing() -> None:
    """Settled until something changes."""
    assert Result() == DONE
    assert DONE.requeue_after is None
    assert Result(requeue_after=0).requeue_after == 0
