"""Durations as Go spells them: `30s`, `1m30s`, `500ms`, `1.5h`."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """
    Seconds of a Go duration; "0" needs no unit.

    Raises: ValueError with the words of Go's time.ParseDuration.
    """
    sign = -1.0 if text.startswith("-") else 1.0
    body = text.removeprefix("-").removeprefix("+")
    if body == "0":
        return 0.0
    total, position = 0.0, 0
    while match := _PART.match(body, position):
        total += float(match[1]) * _UNITS[match[2]]
        position = match.end()
    if not body or position != len(body):
        reason = "missing unit in" if re.fullmatch(r"[\d.]+", body) else "invalid"
        raise ValueError(f'{reason} duration "{text}" (write for example 30s, 1m30s or 500ms)')
    return sign * total


def format_duration(seconds: float) -> str:
    """The shortest Go spelling that people write: `30s`, `1m30s`, `500ms`, `0s`."""
    if 0 < abs(seconds) < 1:
        return f"{seconds * 1000:g}ms"
    sign = "-" if seconds < 0 else ""
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest:g}s" if rest else ""]
    return sign + ("".join(parts) or "0s")
