"""
When a CronJob is due: the five fields, their names and macros, and `@every`. Every function is pure.

Follows: github.com/robfig/cron/v3 (parser.go, spec.go), which Kubernetes uses. Differs: a time that the
clocks of a zone skip is left out for the day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_BOUNDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NAMES: Final = {name: number for number, name in enumerate(_DAYS)} | {
    name: number for number, name in enumerate(_MONTHS, start=1)
}
_EVERY: Final = "@every "
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_HORIZON_DAYS: Final = 5 * 366


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a schedule in a time zone."""

    fields: tuple[frozenset[int], ...]
    either_day: bool
    zone: tzinfo

    def next_after(self, at: float) -> float | None:
        """The first time later than a unix time; None = not within five years."""
        return next((time for time in self._times(at, 1) if time > at), None)

    def latest(self, at: float, since: float) -> float | None:
        """The last time up to one unix time and later than another; None when there is none."""
        for time in self._times(at, -1):
            if time <= since:
                return None
            if time <= at:
                return time
        return None

    def _times(self, at: float, step: int) -> Iterator[float]:
        """The times of the day of a unix time and of the days beyond it, in order."""
        minutes, hours, *_ = self.fields
        day = datetime.fromtimestamp(at, self.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        for _ in range(_HORIZON_DAYS):
            if self._has_day(day):
                clock = sorted(((hour, minute) for hour in hours for minute in minutes), reverse=step < 0)
                for hour, minute in clock:
                    local = day.replace(hour=hour, minute=minute)
                    if local.astimezone(UTC).astimezone(self.zone).hour == hour:
                        yield local.timestamp()
            day = (day.replace(tzinfo=None) + timedelta(days=step)).replace(tzinfo=self.zone)

    def _has_day(self, day: datetime) -> bool:
        _, _, days, months, weekdays = self.fields
        if day.month not in months:
            return False
        by_date, by_weekday = day.day in days, day.isoweekday() % 7 in weekdays
        return by_date or by_weekday if self.either_day else by_date and by_weekday


@dataclass(frozen=True, slots=True)
class Interval:
    """The times of `@every`, counted from the creation or the last time."""

    seconds: float

    def next_after(self, at: float) -> float | None:
        """The first time after a unix time."""
        return at + self.seconds

    def latest(self, at: float, since: float) -> float | None:
        """The last time up to one unix time, counted from another; None when there is none."""
        passed = (at - since) // self.seconds
        return since + passed * self.seconds if passed >= 1 else None


def parsed(text: str, zone: str | None) -> Schedule | Interval:
    """The schedule of a text. Raises: ValueError for a text or a zone that is none."""
    if text.startswith(_EVERY):
        return Interval(max(1.0, float(int(_seconds(text.removeprefix(_EVERY).strip())))))
    fields = _MACROS.get(text, text).split()
    if len(fields) != len(_BOUNDS):
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: {fields}")
    numbers = tuple(_numbers(field, bounds) for field, bounds in zip(fields, _BOUNDS, strict=True))
    stars = any(field.startswith(("*", "?")) for field in (fields[2], fields[4]))
    return Schedule(numbers, not stars, ZoneInfo(zone) if zone else UTC)


def _seconds(text: str) -> float:
    parts = re.findall(r"([\d.]+)(ms|h|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"failed to parse duration {text}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _numbers(field: str, bounds: tuple[int, int]) -> frozenset[int]:
    return frozenset(number for part in field.split(",") for number in _range(part, bounds))


def _range(part: str, bounds: tuple[int, int]) -> Sequence[int]:
    span, _, step = part.partition("/")
    first, dash, last = span.partition("-")
    if first in {"*", "?"}:
        low, high = bounds
    else:
        low = _number(first)
        high = _number(last) if dash else bounds[1] if step else low
    found = range(low, high + 1, int(step or 1))
    if not bounds[0] <= low <= high <= bounds[1]:
        raise ValueError(f"{part} is not within {bounds[0]} and {bounds[1]}")
    return found


def _number(text: str) -> int:
    return _NAMES[text.lower()] if text.lower() in _NAMES else int(text)
