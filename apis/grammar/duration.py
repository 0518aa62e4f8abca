"""
Durations as Go spells them: `30s`, `1m30s`, `500ms`, `1.5h`.

Follows: Go's time.ParseDuration.
"""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # micro sign
    "\u03bcs": 1_000,  # Greek letter mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"([0-9]*+)(?:\.([0-9]*+))?+([^0-9.]*+)")  # without backtracking: linear time
_LARGEST: Final = 2**63
_DIGITS: Final = 18
"""The number of decimal places that are evaluated. Further ones are ignored."""


class DurationError(ValueError):
    """A string is not a duration. The message is Go's."""


def parse_duration(text: str) -> int:
    """
    Return a Go duration in nanoseconds, as a number that fits into 64 bits. "0" needs no unit.

    Raises: DurationError for a string that is not a duration.
    """
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    total, position = 0, 0
    while position < len(body) or not body:
        match = _PART.match(body, position)
        assert match is not None  # the pattern also matches an empty string
        total += _part(text, *match.groups(default=""))
        position = match.end()
    if total > _LARGEST - (text[0] != "-"):
        raise DurationError(f'time: invalid duration "{text}"')
    return -total if text[0] == "-" else total


def _part(text: str, whole: str, decimals: str, unit: str) -> int:
    """Return the nanoseconds of a number with its unit."""
    if not whole and not decimals:
        raise DurationError(f'time: invalid duration "{text}"')
    if unit not in _UNITS:
        what = f'unknown unit "{unit}"' if unit else "missing unit"
        raise DurationError(f'time: {what} in duration "{text}"')
    size, counted = _UNITS[unit], decimals[:_DIGITS]
    whole = whole.lstrip("0")  # int() counts leading zeros against its limit of 4300 digits
    if len(whole) > len(str(_LARGEST)):
        raise DurationError(f'time: invalid duration "{text}"')
    fraction = int(int(counted or "0") * (size / 10 ** len(counted)))  # computed with floats, as Go does
    return int(whole or "0") * size + fraction
