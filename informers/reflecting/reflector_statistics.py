"""What a reflector is at, for logs, metrics and tests."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class State(StrEnum):
    """Where a round is; see the head of reflector.py."""

    EMPTY = "EMPTY"
    LISTING = "LISTING"
    LISTED = "LISTED"
    WATCHING = "WATCHING"


class ReflectorStatistics(msgspec.Struct, frozen=True):
    """
    A reflector at one moment.

    listed and page = objects and pages of the list that is being read, page 0 while it is streamed; relists
    by RelistReason; watches = streams opened; last_event_at and retry_at as Clock.now() counts, None = none.
    """

    state: State
    listed: int
    page: int
    relists: dict[str, int]
    watches: int
    last_sync_resource_version: str
    last_event_at: float | None
    last_error: str
    retry_at: float | None
