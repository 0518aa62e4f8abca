"""
Events of core/v1, from recorders to sinks and logs.

    recorder --event()--> broadcaster --> watcher "log"    --> one log line
                                     |--> watcher "sink-1" --> correlate --> create or patch

Guarantees: each watcher sees the events from its start on, in the order recorded, on a thread of its own; one
that is 1000 events behind loses new ones, and only it.
Follows: client-go tools/record/event.go, differs: shutdown() tries what is queued once, upstream may lose it.
"""

from __future__ import annotations

import random as random_module
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

import structlog

from handloop.apis.core_v1 import Event, EventSource, ObjectReference
from handloop.apis.meta import ObjectMeta
from handloop.apis.time import format_time
from handloop.controller.runtime.events.correlator import DEFAULT_OPTIONS, CorrelatorOptions, EventCorrelator
from handloop.controller.runtime.events.delivery import EventSink, SinkStatistics
from handloop.controller.runtime.events.fanout import QUEUE_LENGTH, EventFanout
from handloop.controller.runtime.events.recorder import EventRecorder, EventRecording
from handloop.controller.runtime.events.sink import EventWriter
from handloop.controller.runtime.events.watcher import EventWatcher
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock
from handloop.workqueue.spawn import Spawn, spawn_thread

log = structlog.get_logger("events")


class EventStatistics(NamedTuple):
    """Over all watchers: events waiting, lost to full queues or a shutdown, and what the sinks did."""

    queued: int
    dropped: int
    sinks: SinkStatistics


class EventBroadcaster:
    """
    Gives each event to every watcher: sinks, logs, and functions.

    State, under _lock: _writers.
    Threads: any; each watcher has its own thread `events-<name>`.
    """

    def __init__(
        self,
        *,
        correlator_options: CorrelatorOptions = DEFAULT_OPTIONS,
        queue_length: int = QUEUE_LENGTH,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = random_module.random,
        spawn: Spawn = spawn_thread,
    ) -> None:
        self._correlator_options = correlator_options
        self._clock = clock
        self._random = random
        self._fanout: EventFanout[Event] = EventFanout(queue_length=queue_length, clock=clock, spawn=spawn)
        self._stop = threading.Event()
        self._lock = new_lock("EventBroadcaster._lock", 95)
        self._writers: list[EventWriter] = []

    def start_recording_to_sink(self, sink: EventSink[Event]) -> EventWatcher[Event]:
        """Write every event from here on to a sink, such as `client.resource(Event)`, with its own counts."""
        correlator = EventCorrelator(self._correlator_options, clock=self._clock)
        writer = EventWriter(sink, correlator, self._stop, clock=self._clock, random=self._random)
        with self._lock:
            self._writers.append(writer)
            number = len(self._writers)
        return self.start_event_watcher(f"sink-{number}", writer.write)

    def start_logging(self, write: Callable[[str], None]) -> EventWatcher[Event]:
        """Give every event from here on to write as one line of text."""
        return self.start_event_watcher("log", lambda event: write(format_event(event)))

    def start_structured_logging(self, verbosity: int = 0) -> EventWatcher[Event]:
        """Log every event from here on, at a -v level."""
        return self.start_event_watcher("log", lambda event: _log_event(event, verbosity))

    def start_event_watcher(self, name: str, handle: Callable[[Event], None]) -> EventWatcher[Event]:
        """
        Call handle with every event from here on.

        Returns: the watcher; close() ends it alone. After shutdown() it is closed from the start.
        """
        return self._fanout.start_watcher(name, handle)

    def new_recorder(self, component: str, *, host: str = "") -> EventRecorder:
        """A recorder that reports in the name of a component."""
        return _Recorder(self._fanout, EventSource(component=component, host=host), self._clock)

    def shutdown(self, timeout_seconds: float = 5.0) -> bool:
        """
        Take no more events, try each queued one once, and end the threads. Idempotent.

        Returns: False when a thread was still busy with an event after the time, and the rest was dropped.
        Blocks: up to timeout_seconds.
        """
        self._stop.set()
        return self._fanout.shutdown(timeout_seconds)

    def statistics(self) -> EventStatistics:
        """A snapshot, for metrics and tests."""
        with self._lock:
            sinks = [writer.statistics() for writer in self._writers]
        queued, dropped = self._fanout.statistics()
        return EventStatistics(queued, dropped, SinkStatistics(*map(sum, zip(*sinks, strict=True))))


class _Recorder:
    """Builds events of core/v1 and publishes them."""

    def __init__(self, fanout: EventFanout[Event], source: EventSource, clock: Clock) -> None:
        self._recording: EventRecording[Event] = EventRecording(fanout.publish, clock=clock)
        self._source = source
        self._clock = clock

    def event(
        self,
        obj: object,
        event_type: str,
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        def make(about: ObjectReference, metadata: ObjectMeta, text: str) -> Event:
            at = format_time(self._clock.time())
            return Event(
                metadata=metadata,
                involved_object=about,
                type=event_type,
                reason=reason,
                message=text,
                source=self._source,
                reporting_component=self._source.component,
                reporting_instance=self._source.host,
                first_timestamp=at,
                last_timestamp=at,
                count=1,
            )

        self._recording.record(obj, event_type, reason, message, annotations=annotations, make=make)


def format_event(event: Event) -> str:
    """An event as one line of text."""
    involved = event.involved_object
    about = f"{involved.kind} {involved.namespace}/{involved.name}"
    return f"Event({about}): type: '{event.type}' reason: '{event.reason}' {event.message}"


def _log_event(event: Event, verbosity: int) -> None:
    involved = event.involved_object
    details = {
        "object": f"{involved.namespace}/{involved.name}" if involved.namespace else involved.name,
        "fieldPath": involved.field_path,
        "kind": involved.kind,
        "apiVersion": involved.api_version,
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
    }
    if verbosity:
        log.debug("Event occurred", v=verbosity, **details)
    else:
        log.info("Event occurred", **details)
