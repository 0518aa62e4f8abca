"""
Times as Go parses and writes them: RFC 3339 with seconds or with microseconds.

Follows: Go time.Parse, apimachinery pkg/apis/meta/v1 Time and MicroTime.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

SECONDS: Final = "2006-01-02T15:04:05Z07:00"
MICROS: Final = "2006-01-02T15:04:05.000000Z07:00"

# pairs of Go's name for an element and its pattern
_ELEMENTS: Final = (
    ("2006", re.compile(r"\d{4}")),
    ("-", re.compile("-")),
    ("01", re.compile(r"\d{2}")),
    ("-", re.compile("-")),
    ("02", re.compile(r"\d{2}")),
    ("T", re.compile("T")),
    ("15", re.compile(r"\d{2}")),
    (":", re.compile(":")),
    ("04", re.compile(r"\d{2}")),
    (":", re.compile(":")),
    ("05", re.compile(r"\d{2}")),
)
_ZONE: Final = re.compile(r"Z|[+-]\d{2}:\d{2}")
_FRACTION: Final = re.compile(r"[.,]\d+")
_MICRO_FRACTION: Final = re.compile(r"[.,]\d{6}")
_WRITTEN: Final = {
    False: re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\dZ", re.ASCII),
    True: re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d\.\d{6}Z", re.ASCII),
}
_RANGES: Final = (("month", 1, 12), ("day", 1, 31), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59))


class TimeError(ValueError):
    """A string is not a valid time. The message is Go's."""


def parse(text: str, layout: str = SECONDS) -> datetime:
    """
    Parse a time as Go does.

    Raises: TimeError if the text is not a valid time in this layout.
    """
    numbers, position = [], 0
    for element, pattern in _ELEMENTS:
        found = pattern.match(text, position)
        if found is None:
            raise TimeError(_cannot(text, layout, text[position:], element))
        if element.isdigit():
            numbers.append(int(found.group()))
        position = found.end()
    fraction = (_MICRO_FRACTION if layout == MICROS else _FRACTION).match(text, position)
    if fraction is None and layout == MICROS:
        raise TimeError(_cannot(text, layout, text[position:], ".000000"))
    position = fraction.end() if fraction else position
    zone = _ZONE.match(text, position)
    if zone is None:
        raise TimeError(_cannot(text, layout, text[position:], "Z07:00"))
    if zone.end() != len(text):
        raise TimeError(f'parsing time "{text}": extra text: "{text[zone.end() :]}"')
    return _moment(text, numbers, fraction.group()[1:] if fraction else "", zone.group())


@lru_cache(maxsize=4096)  # clients send the same few times repeatedly
def canonical(text: str, *, micros: bool) -> str:
    """Return a time in the form in which the server writes it. Raises: TimeError if it is not valid."""
    if _WRITTEN[micros].fullmatch(text) and _is_moment(text):
        return text  # a fast path: each Lease renewal contains two times that are not cached
    moment = parse(text, MICROS if micros else SECONDS)
    return written(moment, micros=micros)


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def written(moment: datetime, *, micros: bool = False) -> str:
    """Return a time as RFC 3339 text in UTC, with a Z."""
    moment = moment.astimezone(UTC)
    text = f"{moment:%Y-%m-%dT%H:%M:%S}"
    return f"{text.rjust(19, '0')}.{moment.microsecond:06d}Z" if micros else f"{text.rjust(19, '0')}Z"


def from_unix(seconds: float, *, micros: bool = False) -> str:
    """Return a Unix time, in seconds, in the form in which the server writes it."""
    return written(datetime.fromtimestamp(seconds, UTC), micros=micros)


def to_unix(text: str) -> float:
    """Return a time, with or without a fraction, as Unix seconds. Raises: TimeError if it is not valid."""
    return parse(text).timestamp()


def _moment(text: str, numbers: list[int], fraction: str, zone: str) -> datetime:
    for (name, low, high), number in zip(_RANGES, numbers[1:], strict=True):
        if not low <= number <= high:
            raise TimeError(f'parsing time "{text}": {name} out of range')
    try:
        return datetime(*numbers, int(f"{fraction:0<6}"[:6] or 0), tzinfo=_zone(zone))  # type: ignore[misc,arg-type]
    except ValueError as error:
        raise TimeError(f'parsing time "{text}": day out of range') from error


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[4:6])))


def _cannot(text: str, layout: str, rest: str, element: str) -> str:
    return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{element}"'
