"""
The API's times: RFC 3339 in UTC, to the second (`metav1.Time`) or the microsecond (`metav1.MicroTime`).

Instants are seconds since the Unix epoch, as `Clock.time()` returns them.
Follows: apimachinery pkg/apis/meta/v1 (time.go, micro_time.go).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from math import floor
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_RFC3339: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", re.ASCII)


def format_time(unix: float) -> str:
    """
    Return a time such as `2023-11-14T22:13:20Z`, truncated to the second.

    Raises: OverflowError outside the years 1 to 9999.
    """
    return _spell(timedelta(seconds=floor(unix)), "seconds")


def format_micro_time(unix: float) -> str:
    """
    Return a time such as `2023-11-14T22:13:20.000000Z`, rounded to the nearest microsecond.

    Raises: OverflowError outside the years 1 to 9999.
    """
    return _spell(timedelta(microseconds=round(unix * 1e6)), "microseconds")


def parse_time(text: str) -> float:
    """
    Return the seconds since the epoch, truncated to microseconds.

    Raises: ValueError for anything but RFC 3339.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    date, clock, fraction, offset = match.groups()
    micros = (fraction or "")[:6].ljust(6, "0")
    instant = datetime.fromisoformat(f"{date}T{clock}.{micros}{offset}")
    return (instant - _EPOCH) // _MICROSECOND / 1e6


def _spell(since_epoch: timedelta, precision: str) -> str:
    return (_EPOCH + since_epoch).isoformat(timespec=precision).removesuffix("+00:00") + "Z"
