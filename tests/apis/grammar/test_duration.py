"""Durations: their length, and refused texts. All of it as Go's time.ParseDuration answers."""

from __future__ import annotations

import pytest

from handloop.apis.grammar.duration import DurationError, parse_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("1s", 10**9),
        ("+1s", 10**9),
        ("-1.5s", -15 * 10**8),
        (".5s", 5 * 10**8),
        ("5.s", 5 * 10**9),
        ("1h30m", 5400 * 10**9),
        ("1h1h", 7200 * 10**9),
        ("1ms1us1ns", 1_001_001),
        ("1\u00b5s", 1000),
        ("1\u03bcs", 1000),
        ("0.9ns", 0),
        ("1.9999999999999999999s", 2 * 10**9),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("00000000000000000000000001s", 10**9),
        ("0" * 5000 + "1s", 10**9),
    ],
    ids=lambda value: str(value)[:20],
)
def test_lengths(text: str, nanoseconds: int) -> None:
    """Units, both spellings of micro, fractions, sums and signs, as far as 64 bits reach."""
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "invalid"),
        ("+", "invalid"),
        ("--1s", "invalid"),
        ("+-1s", "invalid"),
        ("s", "invalid"),
        (".s", "invalid"),
        ("\u0661s", "invalid"),
        ("9223372036854775808ns", "invalid"),
        ("-9223372036854775809ns", "invalid"),
        ("2562047h47m16.854775808s", "invalid"),
        ("1" * 100_000 + "s", "invalid"),
        ("1", "missing unit in"),
        ("00", "missing unit in"),
        ("1s1", "missing unit in"),
        ("1.1.1s", "missing unit in"),
        ("1" * 100_000, "missing unit in"),
        ("1x", 'unknown unit "x" in'),
        ("1d", 'unknown unit "d" in'),
        ("1 s", 'unknown unit " s" in'),
        ("1e3s", 'unknown unit "e" in'),
        ("1h-5m", 'unknown unit "h-" in'),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_duration(text: str, problem: str) -> None:
    """It is refused in Go's words."""
    with pytest.raises(DurationError) as raised:
        parse_duration(text)
    assert str(raised.value) == f'time: {problem} duration "{text}"'
