"""The two spellings of an instant, and what is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.apis.grammar.times import format_micro_time, format_time, parse_time

_YEAR_1, _YEAR_9999 = -62_135_596_800, 253_402_300_799


@pytest.mark.parametrize(
    ("unix", "text"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (1_700_000_000.0, "2023-11-14T22:13:20Z"),
        (1_700_000_000.999999, "2023-11-14T22:13:20Z"),
        (-0.5, "1969-12-31T23:59:59Z"),
        (_YEAR_1, "0001-01-01T00:00:00Z"),
        (_YEAR_9999, "9999-12-31T23:59:59Z"),
    ],
)
def test_format_time_cuts_to_the_second_that_has_begun(unix: float, text: str) -> None:
    """Seconds are floored, years have four digits, and the zone is Z."""
    assert format_time(unix) == text


@pytest.mark.parametrize(
    ("unix", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000.123456, "2023-11-14T22:13:20.123456Z"),
        (1_700_000_000.9999999, "2023-11-14T22:13:21.000000Z"),
        (_YEAR_1, "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_format_micro_time_always_has_six_digits(unix: float, text: str) -> None:
    """MicroTime has exactly six fractional digits."""
    assert format_micro_time(unix) == text


@pytest.mark.parametrize(
    ("text", "unix"),
    [
        ("2023-11-14T22:13:20Z", 1_700_000_000.0),
        ("2023-11-14T22:13:20.5Z", 1_700_000_000.5),
        ("2023-11-14T22:13:20.123456789Z", 1_700_000_000.123456),
        ("2023-11-15T00:13:20+02:00", 1_700_000_000.0),
        ("2023-11-14T16:43:20.000000-05:30", 1_700_000_000.0),
        ("1969-12-31T23:59:59.500000Z", -0.5),
    ],
)
def test_parse_time_reads_what_servers_and_people_write(text: str, unix: float) -> None:
    """Fractions of any length up to nanoseconds and any offset are read."""
    assert parse_time(text) == unix


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "1700000000",
        "2023-11-14",
        "2023-11-14T22:13:20",
        "2023-11-14 22:13:20Z",
        "2023-13-14T22:13:20Z",
        "2023-11-14T25:13:20Z",
        "2023-11-14T22:13:20.Z",
        "2023-11-14T22:13:20Z ",
    ],
)
def test_parse_time_refuses_everything_else(text: str) -> None:
    """A text that is not RFC 3339 is a ValueError, never a guess."""
    with pytest.raises(ValueError):
        parse_time(text)


def test_times_outside_four_digit_years_are_refused() -> None:
    """An instant that RFC 3339 cannot spell is an OverflowError."""
    for unix in (_YEAR_1 - 1, _YEAR_9999 + 1):
        with pytest.raises(OverflowError):
            format_time(unix)


@given(st.integers(_YEAR_1, _YEAR_9999))
def test_seconds_survive_the_round_trip(unix: int) -> None:
    """parse_time undoes format_time."""
    assert parse_time(format_time(unix)) == unix


@given(st.integers(0, 4_000_000_000_000_000))
def test_microseconds_survive_the_round_trip(micros: int) -> None:
    """parse_time undoes format_micro_time to the microsecond."""
    assert round(parse_time(format_micro_time(micros / 1e6)) * 1e6) == micros
