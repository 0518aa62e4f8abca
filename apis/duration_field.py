"""Durations in fields, such as `30d` or `1h30m`. Unlike Go's durations, they allow days but no fractions."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta

_FIELD: Final = "([0-9]{1,5}d)?([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?"
Duration = Annotated[str, Meta(pattern=rf"^{_FIELD}\Z", min_length=2)]
"""
The type of a field: days, hours, minutes and seconds in this order, each at most 99999, such as `30d`,
`1h30m`, `0s`. A day has 24 hours. `timedelta_of` reads it.
"""


def timedelta_of(duration: str) -> timedelta:
    """Return the length of a `Duration`. Raises: ValueError for another format, such as Go's `1.5h`."""
    parts = re.fullmatch(_FIELD, duration)
    if not parts or not duration:
        raise ValueError(
            f"not a duration: {duration!r}; write days, hours, minutes and seconds, as in 1d12h or 90s"
        )
    days, hours, minutes, seconds = (int((part or "0d")[:-1]) for part in parts.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
