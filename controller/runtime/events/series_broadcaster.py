"""
Events of events.k8s.io/v1, from recorders to a sink and a log.

    recorder --event()--> broadcaster --> watcher "series-log"   --> one log line
                                     '--> watcher "series-sink"  --> count --> create or patch
                                          upkeep, every 6 min    --> patch series that go on, or have ended

Guarantees: as broadcaster.py. Events that repeat are one object on the server, with the note of the first.
RBAC: SERIES_EVENTS_ACCESS.
Follows: client-go tools/events/event_broadcaster.go, differs: no second queue before the sink; one thread
writes, not eight, so a series is never written before its first Event; shutdown() tries each queued Event
once. Counts that are not written by then are lost, as upstream.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from typing import Any, Final

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event
from handloop.apis.meta import ObjectMeta
from handloop.apis.time import format_micro_time
from handloop.controller.runtime.events.delivery import EventDelivery, EventSink, Outcome, SinkStatistics
from handloop.controller.runtime.events.fanout import QUEUE_LENGTH, EventFanout, EventWatcher
from handloop.controller.runtime.events.recorder import EventRecording, SeriesRecorder, reference_to
from handloop.controller.runtime.events.series import FINISH_SECONDS, SeriesCache
from handloop.controller.runtime.rbac.access import Access
from handloop.workqueue.seams import REAL_SEAMS, Clock, Joinable, Seams

SERIES_EVENTS_ACCESS: Final = Access(resource=Event.resource, verbs=("create", "patch"))
"""What a controller that reports through a SeriesRecorder asks of the server."""

REFRESH_SECONDS: Final = 1800.0
_FINISHES_PER_REFRESH: Final = round(REFRESH_SECONDS / FINISH_SECONDS)


class SeriesWriter:
    """
    Writes Events to a sink: as they begin, from time to time, and as they end.

    Follows: client-go tools/events/event_broadcaster.go (recordToSink, refreshExistingEventSeries,
    finishSeries).
    Threads: write() from one, refresh() and finish() from another.
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
        self._delivery: EventDelivery[Event] = EventDelivery(
            sink, lambda event: event.regarding, stop, seams=seams
        )

    def statistics(self) -> SinkStatistics:
        """The outcomes so far."""
        return self._delivery.statistics()

    def write(self, event: Event) -> None:
        """
        Count one Event, and write it if it is due; never raises for an error of the sink.

        Blocks: up to about 2 minutes while the sink does not answer, or until stop is set.
        """
        due = self._cache.observe(event)
        if due is None:
            self._delivery.skip()
        else:
            self._delivery.deliver(due, series_patch(due))

    def refresh(self) -> None:
        """Write the count of every series, so that a server that forgets Events after an hour keeps it."""
        for event in self._cache.series():
            self._delivery.try_once(event, series_patch(event))

    def finish(self) -> None:
        """Write the last count of every series that ended; forget it, and Events that stayed alone."""
        for ended in self._cache.ended():
            if ended.event.series is None or self._write_end(ended.event):
                self._cache.forget(ended)

    def _write_end(self, event: Event) -> bool:
        """Whether that is settled: written, or not worth another try."""
        return self._delivery.try_once(event, series_patch(event)) is not Outcome.TRY_AGAIN


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

    def __init__(
        self,
        *,
        queue_length: int = QUEUE_LENGTH,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        super().__init__(queue_length=queue_length, seams=seams)
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

    def statistics(self) -> SinkStatistics:
        """The outcomes of the Events for the sink."""
        with self._lock:
            writer = self._writer
        return SinkStatistics() if writer is None else writer.statistics()

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
