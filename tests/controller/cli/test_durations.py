"""Durations as Go spells them."""

from __future__ import annotations

import pytest

from handloop.controller.cli.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30.0),
        ("1m30s", 90.0),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
        ("0", 0.0),
        ("-2s", -2.0),
        ("+2s", 2.0),
        ("10us", 1e-5),
        ("10µs", 1e-5),
        ("100ns", 1e-7),
        (".5s", 0.5),
        ("1\u03bcs", 1e-6),
    ],
)
def test_go_spellings_are_read(text: str, seconds: float) -> None:
    """Every unit of Go, sums of parts, fractions and signs mean what they mean in Go."""
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["30", "", "s", "1x", "1s2", "--1s", "1 s", "1h-5m", "9999999h"])
def test_what_go_refuses_is_refused(text: str) -> None:
    """A number without a unit, an unknown unit and an empty text are errors that show the text."""
    with pytest.raises(ValueError, match="duration") as caught:
        parse_duration(text)
    assert f'"{text}"' in str(caught.value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (30, "30s"),
        (90, "1m30s"),
        (0.5, "500ms"),
        (3600, "1h"),
        (0, "0s"),
        (3661.5, "1h1m1.5s"),
        (-90, "-1m30s"),
    ],
)
def test_durations_are_written_as_people_write_them(seconds: float, text: str) -> None:
    """The shortest spelling comes out, and reads back as the same."""
    assert format_duration(seconds) == text
    assert parse_duration(text) == pytest.approx(seconds)
