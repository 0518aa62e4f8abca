from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from handloop_sandbox.cel import values as cel_values
from handloop_sandbox.cel.rule import compile_rule
from handloop_sandbox.cel.values import (
    OPERATORS,
    CelError,
    Type,
    bound,
    equal,
    parse_duration,
    type_of,
)


def test_equality() -> None:
    """Numbers of both kinds compare, booleans are no numbers, collections compare inside."""
    assert equal(1, 1.0)
    assert not equal(True, 1)
    assert equal([1, [True]], [1.0, [True]])
    assert not equal([1], [True])
    assert equal({"a": 1}, {"a": 1.0})
    assert not equal({"a": 1}, {"b": 1})


def test_types() -> None:
    """Every value has a type."""
    values: list[object] = [None, True, 1, 1.5, "", [], {}, Type("int")]
    names = [type_of(value).name for value in values]
    assert names == ["null_type", "bool", "int", "double", "string", "list", "map", "type"]


def test_durations() -> None:
    """Durations have units and may be negative."""
    assert parse_duration("1h30m") == timedelta(hours=1.5)
    assert parse_duration("-1.5s") == timedelta(seconds=-1.5)
    assert parse_duration("0") == timedelta(0)
    for text in ("5 parsecs", "", "+", "--1s"):
        with pytest.raises(CelError):
            parse_duration(text)


def test_a_schema_makes_moments_and_durations() -> None:
    """Texts with a format are values of that format, wherever they are."""
    schema = {
        "type": "object",
        "properties": {
            "at": {"type": "string", "format": "date-time"},
            "on": {"type": "string", "format": "date"},
            "for": {"type": "array", "items": {"type": "string", "format": "duration"}},
            "text": {"type": "string"},
        },
    }
    value = {"at": "2026-01-02T03:04:05Z", "on": "2026-01-02", "for": ["5s"], "text": "5s", "other": 1}
    assert bound(schema, value) == {
        "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "on": datetime(2026, 1, 2, tzinfo=UTC),
        "for": [timedelta(seconds=5)],
        "text": "5s",
        "other": 1,
    }


def test_whole_numbers_have_64_bits() -> None:
    """A number that does not fit raises."""
    assert cel_values.checked_int(2**63 - 1) == 2**63 - 1
    with pytest.raises(CelError, match="integer overflow"):
        cel_values.checked_int(2**63)


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
    """Floats divide as in IEEE."""
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


def test_a_text_that_is_no_moment_matters_where_it_is_read() -> None:
    """A rule that does not look at it holds."""
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}}
    value = bound(schema, {"at": "", "n": 1})
    assert compile_rule("self.n == 1")({"self": value})
    with pytest.raises(CelError, match="parsing time"):
        compile_rule("self.at < timestamp('x')")({"self": value})
