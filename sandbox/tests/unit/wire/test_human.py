from __future__ import annotations

import pytest

from handloop_sandbox.wire.human import age, human_duration

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "<invalid>"),
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (1.9, "1s"),
        (119, "119s"),
        (2 * _MINUTE, "2m"),
        (2 * _MINUTE + 5, "2m5s"),
        (10 * _MINUTE - 1, "9m59s"),
        (10 * _MINUTE + 5, "10m"),
        (3 * _HOUR - 1, "179m"),
        (3 * _HOUR, "3h"),
        (3 * _HOUR + _MINUTE, "3h1m"),
        (8 * _HOUR + 5 * _MINUTE, "8h"),
        (2 * _DAY - 1, "47h"),
        (2 * _DAY, "2d"),
        (2 * _DAY + 5 * _HOUR, "2d5h"),
        (8 * _DAY + 5 * _HOUR, "8d"),
        (2 * _YEAR - 1, "729d"),
        (2 * _YEAR, "2y"),
        (3 * _YEAR + 2 * _DAY, "3y2d"),
        (8 * _YEAR + 2 * _DAY, "8y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """The bounds at which a unit gives way to the next. Follows TestHumanDuration."""
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        ("2023-11-14T22:13:20Z", "60s"),
        ("2023-11-14T22:13:20.000000Z", "60s"),
        (None, "<unknown>"),
        ("", "<unknown>"),
        ("yesterday", "<invalid>"),
        ("2024-11-14T22:13:20Z", "<invalid>"),
    ],
)
def test_ages(stamp: str | None, text: str) -> None:
    """How long ago a time was, if it was one."""
    assert age(stamp, 1_700_000_060.0) == text
