"""
Events of events.k8s.io/v1, from recorders to a sink and a log.

    recorder --event()--> broadcaster --> watcher "series-log"   --> one log line
                                     '--> watcher "series-sink"  --> count --> create or patch
                                          upkeep, every 6 min    --> patch series that go on, or have ended

Guarantees: as broadcaster.py. Events that differ only in time and note are one object on the server, with the
note of the first. The first Event is written as it is. The second makes it a series of two, which is written.
From the third on Events are only counted; the count is written from time to time and at the end. A series, or
an Event that stayed alone, ends when it was not seen for six minutes.
RBAC: SERIES_EVENTS_ACCESS.
Follows: client-go tools/events/event_broadcaster.go, differs: no second queue before the sink; one thread
writes, not eight, so a series is never written before its first Event; shutdown() tries each queued Event
once; at most 4096 Events are remembered, and the server's answers are not kept, as only the series is ever
patched. Counts that are not written by the end are lost, as upstream.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cachetools import LRUCache
from msgspec.structs import replace

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event, EventSeries
from handloop.apis.meta import ObjectMeta, format_micro_time
from handloop.controller.runtime.events.delivery import (
    EventDelivery,
    EventFanout,
    EventSink,
    EventWatcher,
    Outcome,
)
from handloop.controller.runtime.events.recorder import EventRecording, SeriesRecorder, reference_to
from handloop.controller.runtime.rbac.access import Access
from handloop.workqueue.seams import REAL_CLOCK, REAL_SEAMS, Clock, Joinable, Seams, new_lock

SERIES_EVENTS_ACCESS: Final = Access(resource=Event.resource, verbs=("create", "patch"))
"""The permissions that a SeriesRecorder needs."""

FINISH_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
CACHE_SIZE: Final = 4096
_FINISHES_PER_REFRESH: Final = round(REFRESH_SECONDS / FINISH_SECONDS)


SeriesKey = tuple[str | ObjectReference | None, ...]


def series_key(event: Event) -> SeriesKey:
    """Events with the same key are the same Event. References count whole, with their resource versions."""
    return (
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


class SeriesWriter:
    """
    Writes Events to a sink: as they begin, from time to time, and as they end.

    Follows: client-go tools/events/event_broadcaster.go (recordToSink, refreshExistingEventSeries,
    finishSeries).
    State: delivery, which guards itself. Threads: write() from one, refresh() and finish() from another.
    """

    def __init__(
        self,
        sink: EventSink[Event],
        cache: SeriesCache,
        stop: threading.Event,
        *,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        self._cache = cache
        self.delivery: EventDelivery[Event] = EventDelivery(
            sink, lambda event: event.regarding, stop, seams=seams
        )

    def write(self, event: Event) -> None:
        """Count one Event, and write it if it is due. Blocks: as EventDelivery.deliver."""
        due = self._cache.observe(event)
        if due is None:
            self.delivery.skip()
        else:
            self.delivery.deliver(due, series_patch(due))

    def refresh(self) -> None:
        """Write the count of every series, so that a server that forgets Events after an hour keeps it."""
        for event in self._cache.series():
            self.delivery.try_once(event, series_patch(event))

    def finish(self) -> None:
        """Write the last count of every series that ended; forget it, and Events that stayed alone."""
        for ended in self._cache.ended():
            if ended.event.series is None or self._write_end(ended.event):
                self._cache.forget(ended)

    def _write_end(self, event: Event) -> bool:
        """Returns: whether the series is settled: written, or not worth another try."""
        return self.delivery.try_once(event, series_patch(event)) is not Outcome.TRY_AGAIN


def series_patch(event: Event) -> dict[str, Any] | None:
    """The patch that makes an Event that was written before a series; None for an Event without one."""
    series = event.series
    if series is None:
        return None
    return {"series": {"count": series.count, "lastObservedTime": series.last_observed_time}}


class SeriesBroadcaster(EventFanout[Event]):
    """
    Gives each Event to a sink, a log, and functions.

    State and threads: as EventFanout; _writer and _upkeep, under _lock, None until there is a sink.
    `events-upkeep` refreshes and finishes series.
    """

    log_name = "series-log"

    def __init__(self, *, seams: Seams = REAL_SEAMS) -> None:
        super().__init__(seams=seams)
        self._writer: SeriesWriter | None = None
        self._upkeep: Joinable | None = None

    def start_recording_to_sink(self, sink: EventSink[Event]) -> EventWatcher[Event]:
        """
        Write every Event from here on to a sink, such as `client.resource(Event)`.

        Raises: RuntimeError when there is a sink already.
        """
        cache = SeriesCache(clock=self._clock)
        writer = SeriesWriter(sink, cache, self.stopping, seams=self._seams)
        with self._lock:
            if self._writer is not None:
                raise RuntimeError("broadcaster is already recording to a sink")
            self._writer = writer
            self._upkeep = self._seams.spawn("events-upkeep", lambda: self._keep_up(writer))
        return self.start_event_watcher("series-sink", writer.write)

    def new_recorder(self, component: str, *, host: str = "") -> SeriesRecorder:
        """
        A recorder that reports in the name of a component.

        Args: component is a qualified name, such as `example.com/backups`; host "" = this machine's name.
        """
        return _Recorder(self, component, f"{component}-{host or socket.gethostname()}", self._clock)

    def shutdown(self, timeout_seconds: float = 5.0) -> bool:
        """As EventFanout; ends the upkeep within the same time."""
        deadline = self._clock.now() + timeout_seconds
        done = super().shutdown(timeout_seconds)
        with self._lock:
            upkeep = self._upkeep
        if upkeep is None:
            return done
        upkeep.join(max(0.0, deadline - self._clock.now()))
        return done and not upkeep.is_alive()

    def facts(self, event: Event) -> dict[str, Any]:
        """What the log says of an Event."""
        about = event.regarding
        return {
            "object": f"{about.namespace}/{about.name}" if about.namespace else about.name,
            "kind": about.kind,
            "apiVersion": about.api_version,
            "type": event.type,
            "reason": event.reason,
            "action": event.action,
            "note": event.note,
        }

    def _keep_up(self, writer: SeriesWriter) -> None:
        finishes = 0
        while not self._clock.sleep(FINISH_SECONDS, self.stopping):
            writer.finish()
            finishes += 1
            if finishes % _FINISHES_PER_REFRESH == 0:
                writer.refresh()


class _Recorder:
    """Builds Events of events.k8s.io/v1 and publishes them."""

    def __init__(self, fanout: EventFanout[Event], controller: str, instance: str, clock: Clock) -> None:
        self._recording: EventRecording[Event] = EventRecording(fanout.publish, clock=clock)
        self._controller = controller
        self._instance = instance
        self._clock = clock

    def event(
        self,
        obj: object,
        event_type: str,
        reason: str,
        message: str,
        *,
        action: str = "",
        related: object = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        def make(about: ObjectReference, metadata: ObjectMeta, text: str) -> Event:
            return Event(
                metadata=metadata,
                event_time=format_micro_time(self._clock.time()),
                reporting_controller=self._controller,
                reporting_instance=self._instance,
                action=action or reason,
                reason=reason,
                regarding=about,
                related=reference_to(related),
                note=text,
                type=event_type,
            )

        self._recording.record(obj, event_type, reason, message, annotations=annotations, make=make)
