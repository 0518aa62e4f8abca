from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from handloop.sandbox.custom import cel_values
from handloop.sandbox.custom.cel_values import CelError, Type, bound, equal, parse_duration, type_of


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
    """Texts with a format are what the format says, wherever they are."""
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
