"""
Pass Events of core/v1 from recorders to sinks and logs.

    recorder --event()--> broadcaster --> watcher "log"    --> one log line
                                     |--> watcher "sink-1" --> correlate --> create or patch

Guarantees: each watcher receives all Events that are recorded after it was started, in the order in which
they were recorded, on a separate thread. A watcher that is 1000 Events behind loses new Events, but the other
watchers receive them.
Follows: client-go tools/record/event.go, differs: shutdown() tries each queued Event once; upstream may lose
it.
"""

from __future__ import annotations

import threading
from functools import partial
from itertools import count
from typing import Any

from handloop.apis.core_v1 import Event, EventSource
from handloop.controller.runtime.events.correlator import EventCorrelator
from handloop.controller.runtime.events.delivery import (
    QUEUE_LENGTH,
    EventDelivery,
    EventFanout,
    EventSink,
    EventWatcher,
)
from handloop.controller.runtime.events.recorder import EventRecorder, PublishingRecorder
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("events")


class EventWriter:
    """
    Correlates Events and writes the results to a sink, one at a time.

    Follows: client-go tools/record/event.go (recordToSink).
    State: delivery, which has its own lock. Threads: one thread calls write().
    """

    def __init__(
        self,
        sink: EventSink,
        correlator: EventCorrelator,
        stop: threading.Event,
        *,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        self._correlator = correlator
        self.delivery = EventDelivery(sink, stop, on_written=correlator.update_state, seams=seams)

    def write(self, event: Event) -> None:
        """Write one Event, if the correlator lets it pass. Blocks: as long as EventDelivery.deliver."""
        correlation = self._correlator.correlate(event)
        if correlation.skip:
            self.delivery.skip()
        else:
            self.delivery.deliver(correlation.event, correlation.patch)


class EventBroadcaster(EventFanout[Event]):
    """
    Passes every Event to every watcher: sinks, logs, and functions.

    State and threads: see EventFanout.
    """

    def __init__(
        self,
        *,
        queue_length: int = QUEUE_LENGTH,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        super().__init__(queue_length=queue_length, seams=seams)
        self._sink_numbers = count(1)

    def start_recording_to_sink(self, sink: EventSink) -> EventWatcher[Event]:
        """
        Write all later Events to a sink, such as `client.resource(Event)`.

        Repeated Events are counted for each sink separately.
        """
        correlator = EventCorrelator(clock=self._clock)
        writer = EventWriter(sink, correlator, self.stopping, seams=self._seams)
        return self.start_event_watcher(f"sink-{next(self._sink_numbers)}", writer.write)

    def new_recorder(self, component: str, *, host: str = "") -> EventRecorder:
        """Return a recorder whose Events name a component as their source."""
        source = EventSource(component=component, host=host)
        return PublishingRecorder(self.publish, source, clock=self._clock)

    def start_structured_logging(self, verbosity: int = 0) -> EventWatcher[Event]:
        """Log all later Events at this -v level. At level 0, they are always logged."""
        write = partial(log.debug, v=verbosity) if verbosity else log.info
        return self.start_event_watcher("log", lambda event: write("Event occurred", **self._facts(event)))

    def _facts(self, event: Event) -> dict[str, Any]:
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
