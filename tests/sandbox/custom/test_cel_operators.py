from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handloop.sandbox.custom.cel_operators import OPERATORS
from handloop.sandbox.custom.cel_values import CelError

_DAY = timedelta(days=1)
_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (1, "+", 2, 3),
        ("a", "+", "b", "ab"),
        ([1], "+", [2], [1, 2]),
        (_NOON, "+", _DAY, _NOON + _DAY),
        (_NOON, "-", _NOON, timedelta(0)),
        (1.5, "*", 2.0, 3.0),
        (-7, "/", 2, -3),
        (7, "/", -2, -3),
        (-7, "%", 2, -1),
        (7, "%", -2, 1),
        (1.0, "/", 0.0, math.inf),
        (-1.0, "/", 0.0, -math.inf),
        (1, "==", 1.0, True),
        (1, "!=", "1", True),
        (1, "<", 1.5, True),
        ("b", ">=", "a", True),
        (1.0, "in", [1], True),
        ("a", "in", {"a": 1}, True),
        ([], "in", {"a": 1}, False),
    ],
)
def test_results(left: Any, operator: str, right: Any, result: Any) -> None:
    """Operators on values of one type; comparisons of numbers go across types."""
    assert OPERATORS[operator](left, right) == result


def test_no_number_from_zero_by_zero() -> None:
    """Floats divide as IEEE says."""
    assert math.isnan(OPERATORS["/"](0.0, 0.0))


@pytest.mark.parametrize(
    ("left", "operator", "right", "message"),
    [
        (1, "+", "a", "no such overload"),
        (True, "+", True, "no such overload"),
        (1, "-", 1.0, "no such overload"),
        (1, "<", "a", "no such overload"),
        (1.5, "%", 1.0, "no such overload"),
        (1, "in", "a", "no such overload"),
        (1, "/", 0, "division by zero"),
        (1, "%", 0, "modulus by zero"),
        (2**62, "*", 4, "integer overflow"),
    ],
)
def test_what_has_no_result(left: Any, operator: str, right: Any, message: str) -> None:
    """Anything else is an error of the rule, with CEL's words."""
    with pytest.raises(CelError, match=message):
        OPERATORS[operator](left, right)
