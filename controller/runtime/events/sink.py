"""
Writing events of core/v1 to a sink: correlate, then deliver what comes out.

Follows: client-go tools/record/event.go (recordToSink).
"""

from __future__ import annotations

import random as random_module
import threading
from collections.abc import Callable

from handloop.apis.core_v1 import Event
from handloop.controller.runtime.events.correlator import EventCorrelator
from handloop.controller.runtime.events.delivery import EventDelivery, EventSink, SinkStatistics
from handloop.workqueue.clock import REAL_CLOCK, Clock


class EventWriter:
    """
    Correlates events and writes what comes out, one at a time.

    Threads: write() from one thread; statistics() from any.
    """

    def __init__(
        self,
        sink: EventSink[Event],
        correlator: EventCorrelator,
        stop: threading.Event,
        *,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self._correlator = correlator
        self._delivery: EventDelivery[Event] = EventDelivery(
            sink,
            lambda event: event.involved_object,
            stop,
            on_written=correlator.update_state,
            clock=clock,
            random=random,
        )

    def statistics(self) -> SinkStatistics:
        """What has become of the events so far."""
        return self._delivery.statistics()

    def write(self, event: Event) -> None:
        """
        Write one event, whatever it takes; never raises for what the sink does.

        Blocks: up to about 2 minutes while the sink does not answer, or until stop is set.
        """
        correlation = self._correlator.correlate(event)
        if correlation.skip:
            self._delivery.skip()
        else:
            self._delivery.deliver(correlation.event, correlation.patch)
