"""
Events of core/v1, from recorders to sinks and logs.

    recorder --event()--> broadcaster --> watcher "log"    --> one log line
                                     |--> watcher "sink-1" --> correlate --> create or patch

Guarantees: each watcher sees the Events from its start on, in the order recorded, on a thread of its own. A
watcher that is 1000 Events behind loses new ones; the others do not.
Follows: client-go tools/record/event.go, differs: shutdown() tries each queued Event once, upstream may lose
it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import count
from typing import Any

from handloop.apis.core_v1 import Event, EventSource, ObjectReference
from handloop.apis.meta import ObjectMeta, format_time
from handloop.controller.runtime.events.correlator import EventCorrelator
from handloop.controller.runtime.events.delivery import (
    QUEUE_LENGTH,
    EventDelivery,
    EventFanout,
    EventSink,
    EventWatcher,
)
from handloop.controller.runtime.events.recorder import EventRecorder, EventRecording
from handloop.workqueue.seams import REAL_SEAMS, Clock, Seams


class EventWriter:
    """
    Correlates Events and writes the outcome to a sink, one at a time.

    Follows: client-go tools/record/event.go (recordToSink).
    State: delivery, which guards itself. Threads: write() from one.
    """

    def __init__(
        self,
        sink: EventSink[Event],
        correlator: EventCorrelator,
        stop: threading.Event,
        *,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        self._correlator = correlator
        self.delivery: EventDelivery[Event] = EventDelivery(
            sink,
            lambda event: event.involved_object,
            stop,
            on_written=correlator.update_state,
            seams=seams,
        )

    def write(self, event: Event) -> None:
        """Write one Event, if the correlator lets it through. Blocks: as EventDelivery.deliver."""
        correlation = self._correlator.correlate(event)
        if correlation.skip:
            self.delivery.skip()
        else:
            self.delivery.deliver(correlation.event, correlation.patch)


class EventBroadcaster(EventFanout[Event]):
    """
    Gives each Event to every watcher: sinks, logs, and functions.

    State and threads: as EventFanout.
    """

    def __init__(
        self,
        *,
        queue_length: int = QUEUE_LENGTH,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        super().__init__(queue_length=queue_length, seams=seams)
        self._sink_numbers = count(1)

    def start_recording_to_sink(self, sink: EventSink[Event]) -> EventWatcher[Event]:
        """Write every Event from here on to a sink, such as `client.resource(Event)`, with its own counts."""
        correlator = EventCorrelator(clock=self._clock)
        writer = EventWriter(sink, correlator, self.stopping, seams=self._seams)
        return self.start_event_watcher(f"sink-{next(self._sink_numbers)}", writer.write)

    def new_recorder(self, component: str, *, host: str = "") -> EventRecorder:
        """A recorder that reports in the name of a component."""
        return _Recorder(self, EventSource(component=component, host=host), self._clock)

    def facts(self, event: Event) -> dict[str, Any]:
        """What the log says of an Event."""
        involved = event.involved_object
        return {
            "object": f"{involved.namespace}/{involved.name}" if involved.namespace else involved.name,
            "fieldPath": involved.field_path,
            "kind": involved.kind,
            "apiVersion": involved.api_version,
            "type": event.type,
            "reason": event.reason,
            "message": event.message,
        }


class _Recorder:
    """Builds Events of core/v1 and publishes them."""

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
