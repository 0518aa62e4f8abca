"""
The methods that return the parts of timestamps and durations.

Follows: CEL standard definitions (timestamp functions).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from handloop_sandbox.cel.values import CelError

Function = Callable[..., int]


def _in_zone(moment: datetime, zone: str) -> datetime:
    offset = re.fullmatch(r"([+-]?)(\d\d?):(\d\d)", zone)
    if offset is not None:
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return moment.astimezone(timezone(-span if offset[1] == "-" else span))
    try:
        return moment.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise CelError(f"unknown time zone {zone}") from error


def _moment(pick: Callable[[datetime], int]) -> Function:
    def function(moment: datetime, zone: str = "+00:00") -> int:
        return pick(_in_zone(moment, zone))

    return function


def _span(seconds: float) -> Function:
    def function(value: datetime | timedelta, zone: str = "+00:00") -> int:
        if isinstance(value, timedelta):
            return int(value.total_seconds() / seconds)
        value = _in_zone(value, zone)
        return {3600: value.hour, 60: value.minute, 1: value.second}.get(
            int(seconds), value.microsecond // 1000
        )

    return function


METHODS: Final[dict[str, Function]] = {
    "getFullYear": _moment(lambda moment: moment.year),
    "getMonth": _moment(lambda moment: moment.month - 1),
    "getDate": _moment(lambda moment: moment.day),
    "getDayOfMonth": _moment(lambda moment: moment.day - 1),
    "getDayOfWeek": _moment(lambda moment: (moment.weekday() + 1) % 7),
    "getDayOfYear": _moment(lambda moment: moment.timetuple().tm_yday - 1),
    "getHours": _span(3600),
    "getMinutes": _span(60),
    "getSeconds": _span(1),
    "getMilliseconds": _span(0.001),
}
