"""Durations as Go spells them: `30s`, `1m30s`, `500ms`, `1.5h`."""

from __future__ import annotations

from handloop.apis import duration


def parse_duration(text: str) -> float:
    """
    Seconds of a Go duration; "0" needs no unit.

    Raises: ValueError with the words of Go's time.ParseDuration, and an example.
    """
    try:
        return duration.parse_duration(text) / 1e9
    except duration.DurationError as error:
        told = str(error).removeprefix("time: ")
        raise ValueError(f"{told} (write for example 30s, 1m30s or 500ms)") from error


def format_duration(seconds: float) -> str:
    """The shortest Go spelling that people write: `30s`, `1m30s`, `500ms`, `0s`."""
    if 0 < abs(seconds) < 1:
        return f"{seconds * 1000:g}ms"
    sign = "-" if seconds < 0 else ""
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest:g}s" if rest else ""]
    return sign + ("".join(parts) or "0s")
