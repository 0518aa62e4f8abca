"""
The schedule of a CronJob: five fields, a macro such as `@daily`, or `@every`. Every function is pure.

Follows: github.com/robfig/cron/v3 (parser.go, spec.go), which Kubernetes uses. Differs: if clocks are put
forward past a scheduled time, this time is skipped on that day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple
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
_WHOLE: Final = re.compile(r"[+-]?\d+", re.ASCII)
_EVERY: Final = "@every "
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_HORIZON_DAYS: Final = 5 * 366


class _Bounds(NamedTuple):
    """A field's lowest and highest number, and the names of its numbers, starting with the lowest."""

    lowest: int
    highest: int
    names: tuple[str, ...] = ()


_BOUNDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Bounds(0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The scheduled times of a five-field schedule in a time zone."""

    fields: tuple[frozenset[int], ...]
    either_day: bool
    zone: tzinfo

    def next_after(self, at: float) -> float | None:
        """Return the first scheduled time after a unix time, or None if there is none within five years."""
        return next((time for time in self._times(at, 1) if time > at), None)

    def latest(self, at: float, since: float) -> float | None:
        """Return the latest scheduled time in (since, at], both unix times, or None if there is none."""
        for time in self._times(at, -1):
            if time <= since:
                return None
            if time <= at:
                return time
        return None

    def _times(self, at: float, step: int) -> Iterator[float]:
        """Yield the scheduled times, starting on the day of a unix time. With step -1, go backwards."""
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
    """The scheduled times of `@every`, counted from the CronJob's creation or its last scheduled time."""

    seconds: float

    def next_after(self, at: float) -> float | None:
        """Return the first scheduled time after a unix time."""
        return at + self.seconds

    def latest(self, at: float, since: float) -> float | None:
        """Return the last scheduled time up to at, or None. The first one is since plus the interval."""
        passed = (at - since) // self.seconds
        return since + passed * self.seconds if passed >= 1 else None


def parsed(text: str, zone: str | None) -> Schedule | Interval:
    """
    Parse a schedule.

    Raises: ValueError if the schedule or the zone is invalid. The message for an invalid schedule equals
    the Go library's.
    """
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, text = text.partition(" ")
        zone = prefix.partition("=")[2]
        if not is_zone(zone):
            raise ValueError(f"provided bad location {zone}: unknown time zone {zone}")
    text = text.strip()
    if text.startswith(_EVERY):
        return Interval(max(1.0, float(int(_seconds(text.removeprefix(_EVERY))))))
    if text.startswith("@") and text not in _MACROS:
        raise ValueError(f"unrecognized descriptor: {text}")
    fields = _MACROS.get(text, text).split()
    if len(fields) != len(_BOUNDS):
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    numbers = tuple(_numbers(field, bounds) for field, bounds in zip(fields, _BOUNDS, strict=True))
    stars = any(field.startswith(("*", "?")) for field in (fields[2], fields[4]))
    return Schedule(numbers, not stars, ZoneInfo(zone) if zone else UTC)


def is_zone(name: str) -> bool:
    """Return whether a time zone with this name exists."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _seconds(text: str) -> float:
    parts = re.findall(r"([\d.]+)(ms|h|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f'failed to parse duration {_EVERY}{text}: time: invalid duration "{text}"')
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _numbers(field: str, bounds: _Bounds) -> frozenset[int]:
    return frozenset(number for part in field.split(",") if part for number in _range(part, bounds))


def _range(part: str, bounds: _Bounds) -> Sequence[int]:
    span, *steps = part.split("/")
    first, *lasts = span.split("-")
    if first in {"*", "?"}:
        low, high = bounds.lowest, bounds.highest
    else:
        low = _number(first, bounds)
        if len(lasts) > 1:
            raise ValueError(f"too many hyphens: {part}")
        high = _number(lasts[0], bounds) if lasts else low
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {part}")
    step = _whole(steps[0]) if steps else 1
    if steps and not lasts:
        high = bounds.highest
    if low < bounds.lowest:
        raise ValueError(f"beginning of range ({low}) below minimum ({bounds.lowest}): {part}")
    if high > bounds.highest:
        raise ValueError(f"end of range ({high}) above maximum ({bounds.highest}): {part}")
    if low > high:
        raise ValueError(f"beginning of range ({low}) beyond end of range ({high}): {part}")
    if not step:
        raise ValueError(f"step of range should be a positive number: {part}")
    return range(low, high + 1, step)


def _number(text: str, bounds: _Bounds) -> int:
    low = text.lower()
    return bounds.lowest + bounds.names.index(low) if low in bounds.names else _whole(text)


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
