"""
Which Events become one series: Events that differ only in time and note.

The first Event is written as it is. The second makes it a series of two, which is written. From the third on
Events are only counted; the count is written from time to time and at the end. A series, or an Event that
stayed alone, ends when it was not seen for six minutes.
Follows: client-go tools/events/event_broadcaster.go, differs: at most 4096 Events are remembered, and the
server's answers are not kept, as only the series is ever patched.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from cachetools import LRUCache
from msgspec.structs import replace

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event, EventSeries
from handloop.apis.time import format_micro_time
from handloop.workqueue.locks import new_lock
from handloop.workqueue.seams import REAL_CLOCK, Clock

FINISH_SECONDS: Final = 360.0
CACHE_SIZE: Final = 4096


class SeriesKey(NamedTuple):
    """Events with the same key are the same Event. References count whole, with their resource versions."""

    type: str
    action: str
    reason: str
    reporting_controller: str
    reporting_instance: str
    regarding: ObjectReference
    related: ObjectReference | None


def series_key(event: Event) -> SeriesKey:
    """The key of an Event's series."""
    return SeriesKey(
        event.type,
        event.action,
        event.reason,
        event.reporting_controller,
        event.reporting_instance,
        event.regarding,
        event.related,
    )


class Remembered(NamedTuple):
    """An Event as it was last counted; last_at as Clock.now() counts."""

    event: Event
    last_at: float


class SeriesCache:
    """
    Counts Events.

    State, under _lock: _seen, the newest state by key. Entries are replaced, never mutated, so `is` tells
    whether an Event was seen again.
    Threads: any.
    """

    def __init__(self, *, size: int = CACHE_SIZE, clock: Clock = REAL_CLOCK) -> None:
        self._clock = clock
        self._lock = new_lock("SeriesCache._lock", 96)
        self._seen: LRUCache[SeriesKey, Remembered] = LRUCache(size)

    def __len__(self) -> int:
        with self._lock:
            return len(self._seen)

    def observe(self, event: Event) -> Event | None:
        """
        Count an Event.

        Returns: the Event to write: this one, or the first one with a series; None if no write is due.
        """
        key = series_key(event)
        with self._lock:
            known = self._seen.get(key)
            counted = event if known is None else self._counted(known.event)
            self._seen[key] = Remembered(counted, self._clock.now())
        return counted if known is None or known.event.series is None else None

    def series(self) -> list[Event]:
        """Each Event that was seen more than once, as it was last counted."""
        with self._lock:
            return [one.event for one in self._seen.values() if one.event.series is not None]

    def ended(self) -> list[Remembered]:
        """The Events that were not seen for longer than FINISH_SECONDS."""
        before = self._clock.now() - FINISH_SECONDS
        with self._lock:
            return [one for one in self._seen.values() if one.last_at < before]

    def forget(self, ended: Remembered) -> None:
        """Forget an Event that ended, unless it was seen again meanwhile."""
        key = series_key(ended.event)
        with self._lock:
            if self._seen.get(key) is ended:
                del self._seen[key]

    def _counted(self, event: Event) -> Event:
        count = 1 if event.series is None else event.series.count
        return replace(event, series=EventSeries(count=count + 1, last_observed_time=self._now()))

    def _now(self) -> str:
        return format_micro_time(self._clock.time())
