"""
Which events become one series: those that differ in nothing but time and note.

The first is written as it is; the second makes it a series of two, which is written; from the third on they
are only counted, and the count is written from time to time and at the end. A series, or an event that stayed
alone, ends when it was not seen for six minutes.
Follows: client-go tools/events/event_broadcaster.go, differs: at most 4096 events are remembered, and the
server's answers are not kept, as only the series is ever patched.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from cachetools import LRUCache
from msgspec.structs import replace

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event, EventSeries
from handloop.apis.time import format_micro_time
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock

FINISH_SECONDS: Final = 360.0
CACHE_SIZE: Final = 4096


class SeriesKey(NamedTuple):
    """Events with this in common are the same event. References count whole, with their resource versions."""

    type: str
    action: str
    reason: str
    reporting_controller: str
    reporting_instance: str
    regarding: ObjectReference
    related: ObjectReference | None


def series_key(event: Event) -> SeriesKey:
    """The series that an event belongs to."""
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
    """An event as it was last counted; last_at as Clock.now() counts."""

    event: Event
    last_at: float


class SeriesCache:
    """
    Counts events.

    State, under _lock: _seen, the newest state by key.
    Threads: any. What is remembered is never changed, so a state that is still the same object was not seen
        again.
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
        Count an event.

        Returns: what is to be written: the event itself, or the first one with a series; None for nothing.
        """
        key = series_key(event)
        with self._lock:
            known = self._seen.get(key)
            counted = event if known is None else self._counted(known.event)
            self._seen[key] = Remembered(counted, self._clock.now())
        return counted if known is None or known.event.series is None else None

    def series(self) -> list[Event]:
        """Each event that was seen more than once, as it was last counted."""
        with self._lock:
            return [one.event for one in self._seen.values() if one.event.series is not None]

    def ended(self) -> list[Remembered]:
        """What was not seen for longer than FINISH_SECONDS."""
        before = self._clock.now() - FINISH_SECONDS
        with self._lock:
            return [one for one in self._seen.values() if one.last_at < before]

    def forget(self, ended: Remembered) -> None:
        """Forget what ended, unless it was seen again meanwhile."""
        key = series_key(ended.event)
        with self._lock:
            if self._seen.get(key) is ended:
                del self._seen[key]

    def _counted(self, event: Event) -> Event:
        count = 1 if event.series is None else event.series.count
        return replace(event, series=EventSeries(count=count + 1, last_observed_time=self._now()))

    def _now(self) -> str:
        return format_micro_time(self._clock.time())
