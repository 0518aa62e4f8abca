from __future__ import annotations

import pytest

from handloop_sandbox.cel.rule import compile_rule
from handloop_sandbox.cel.values import CelError

_MOMENT = "timestamp('2020-01-31T23:30:05.25Z')"


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("getFullYear()", 2020),
        ("getMonth('Europe/Berlin')", 1),
        ("getDayOfMonth()", 30),
        ("getDate('+01:00')", 1),
        ("getDayOfWeek()", 5),
        ("getDayOfYear()", 30),
        ("getHours('-01:30')", 22),
        ("getMinutes()", 30),
        ("getSeconds()", 5),
        ("getMilliseconds()", 250),
    ],
)
def test_parts_of_moments(call: str, value: int) -> None:
    """In a zone, or else in UTC."""
    assert compile_rule(f"{_MOMENT}.{call}")({}) == value


def test_parts_of_durations() -> None:
    """The whole of it in that unit."""
    assert compile_rule("duration('1h30m').getMinutes()")({}) == 90


def test_zones_have_to_exist() -> None:
    """An unknown one has no time."""
    with pytest.raises(CelError, match="unknown time zone Nope/X"):
        compile_rule(f"{_MOMENT}.getHours('Nope/X')")({})
