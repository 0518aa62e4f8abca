"""
Writing events of events.k8s.io/v1 to a sink: as they begin, from time to time, and as they end.

RBAC: create and patch on events of events.k8s.io.
Follows: client-go tools/events/event_broadcaster.go (recordToSink, refreshExistingEventSeries, finishSeries),
differs: one thread writes, not eight, so a series is never written before its first event.
"""

from __future__ import annotations

import random as random_module
import threading
from collections.abc import Callable
from typing import Any

from handloop.apis.events_v1 import Event
from handloop.controller.runtime.events.delivery import EventDelivery, EventSink, Outcome, SinkStatistics
from handloop.controller.runtime.events.series import SeriesCache
from handloop.workqueue.clock import REAL_CLOCK, Clock


class SeriesWriter:
    """Writes what a cache finds worth it. Threads: write() from one, refresh() and finish() from another."""

    def __init__(
        self,
        sink: EventSink[Event],
        cache: SeriesCache,
        stop: threading.Event,
        *,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self._cache = cache
        self._delivery: EventDelivery[Event] = EventDelivery(
            sink, lambda event: event.regarding, stop, clock=clock, random=random
        )

    def statistics(self) -> SinkStatistics:
        """What has become of the events so far."""
        return self._delivery.statistics()

    def write(self, event: Event) -> None:
        """
        Count one event, and write what has to be written; never raises for what the sink does.

        Blocks: up to about 2 minutes while the sink does not answer, or until stop is set.
        """
        due = self._cache.observe(event)
        if due is None:
            self._delivery.skip()
        else:
            self._delivery.deliver(due, series_patch(due))

    def refresh(self) -> None:
        """Write the count of every series, so that a server that forgets events after an hour keeps it."""
        for event in self._cache.series():
            self._delivery.try_once(event, series_patch(event))

    def finish(self) -> None:
        """Write the last count of every series that ended; forget it, and events that stayed alone."""
        for ended in self._cache.ended():
            if ended.event.series is None or self._write_end(ended.event):
                self._cache.forget(ended)

    def _write_end(self, event: Event) -> bool:
        """Whether that is settled: written, or not worth another try."""
        return self._delivery.try_once(event, series_patch(event)) is not Outcome.TRY_AGAIN


def series_patch(event: Event) -> dict[str, Any] | None:
    """What to change of an event that was written before it was a series; None for one that is none."""
    series = event.series
    if series is None:
        return None
    return {"series": {"count": series.count, "lastObservedTime": series.last_observed_time}}
