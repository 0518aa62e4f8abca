"""A watch: raw blocks in, whole events out."""

from __future__ import annotations

from typing import Generic, TypeVar

from client.watch_events import INITIAL_EVENTS_END, Bookmark, EventType, WatchEvent, WrongKind

__all__ = ["INITIAL_EVENTS_END", "Bookmark", "EventType", "WatchEvent", "WatchStream", "WrongKind"]

T = TypeVar("T")


class WatchStream(Generic[T]):
    """An open watch."""

    def read(self) -> list[WatchEvent[T]]:
        """Block for at least one event; [] = the server ended the stream cleanly."""
        raise NotImplementedError

    def close(self) -> None:
        """End the watch, from any thread."""
        raise NotImplementedError
