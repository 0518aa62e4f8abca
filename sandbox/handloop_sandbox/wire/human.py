"""
Durations as kubectl prints them, with at most two units. Longer durations are less precise.

Follows: apimachinery pkg/util/duration/duration.go (HumanDuration), cli-runtime and printers' age columns.
"""

from __future__ import annotations

from handloop_sandbox.grammar.times import parse_time

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 86400 * 365


def human_duration(seconds: float) -> str:
    """
    Return a duration such as `63s`, `4m12s`, `27m`, `3d4h` or `2y35d`.

    A duration of -2 seconds or less is `<invalid>`.
    """
    if seconds <= -2:  # noqa: PLR2004  tolerates skewed clocks
        return "<invalid>"
    whole = max(int(seconds), 0)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 3 * _HOUR:
        return _minutes(whole)
    if whole < 2 * _DAY:
        return _hours(whole)
    return _days(whole) if whole < 2 * _YEAR else _years(whole)


def _minutes(whole: int) -> str:
    if whole < 10 * _MINUTE:
        return _pair(whole // _MINUTE, "m", whole % _MINUTE, "s")
    return f"{whole // _MINUTE}m"


def _hours(whole: int) -> str:
    if whole < 8 * _HOUR:
        return _pair(whole // _HOUR, "h", whole // _MINUTE % 60, "m")
    return f"{whole // _HOUR}h"


def _days(whole: int) -> str:
    if whole < 8 * _DAY:
        return _pair(whole // _DAY, "d", whole // _HOUR % 24, "h")
    return f"{whole // _DAY}d"


def _years(whole: int) -> str:
    years = whole // _YEAR
    if years < 8:  # noqa: PLR2004 from here on, days are omitted
        return _pair(years, "y", whole // _DAY % 365, "d")
    return f"{years}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def age(timestamp: object, now: float) -> str:
    """Return the age of an RFC 3339 time: `<unknown>` if it is missing, `<invalid>` if it is malformed."""
    if not timestamp:
        return UNKNOWN
    try:
        return human_duration(now - parse_time(str(timestamp)))
    except ValueError:
        return "<invalid>"
