"""The recorders of one process, and the two broadcasters behind them."""

from __future__ import annotations

import threading
from typing import Final

from handloop.apis import events_v1
from handloop.apis.core_v1 import Event
from handloop.client.resource_client import Client
from handloop.controller.runtime.events.broadcaster import EventBroadcaster
from handloop.controller.runtime.events.recorder import EventRecorder, SeriesRecorder
from handloop.controller.runtime.events.series_broadcaster import SeriesBroadcaster
from handloop.workqueue.seams import REAL_SEAMS, Seams, new_lock

FLUSH_SECONDS: Final = 5.0
_LOG_VERBOSITY: Final = 3


class Recorders:
    """
    Hands out recorders at any time; their Events are written from start to shutdown.

    State, under _lock (4): _series, None until the first series_recorder; _recording, whether Events are
    written. _ended is set by shutdown at its end, and ends the waits of requests.
    Threads: any.
    """

    def __init__(self, client: Client, *, seams: Seams = REAL_SEAMS) -> None:
        self._ended = threading.Event()
        self._client = client.until(self._ended)
        self._clock = seams.clock
        self._seams = seams
        self._broadcaster = EventBroadcaster(seams=seams)
        self._lock = new_lock("Recorders._lock", 4)
        self._series: SeriesBroadcaster | None = None
        self._recording = False

    def recorder(self, component: str) -> EventRecorder:
        """As Manager.recorder."""
        return self._broadcaster.new_recorder(component)

    def series_recorder(self, component: str) -> SeriesRecorder:
        """As Manager.series_recorder."""
        with self._lock:
            if self._series is None:
                self._series = SeriesBroadcaster(seams=self._seams)
                if self._recording:
                    self._record_series(self._series)
            return self._series.new_recorder(component)

    def start(self) -> None:
        """Write Events from here on."""
        self._broadcaster.start_structured_logging(_LOG_VERBOSITY)
        self._broadcaster.start_recording_to_sink(self._client.resource(Event))
        with self._lock:
            self._recording = True
            if self._series is not None:
                self._record_series(self._series)

    def shutdown(self, seconds: float = FLUSH_SECONDS) -> bool:
        """
        Write the queued Events, each with one try, and end the threads.

        Returns: False when time ran out, and the rest was dropped.
        Blocks: until then, FLUSH_SECONDS at most.
        """
        ends_at = self._clock.now() + min(seconds, FLUSH_SECONDS)
        with self._lock:
            self._recording, series = False, self._series
        done = self._broadcaster.shutdown(max(0.0, ends_at - self._clock.now()))
        if series is not None:
            done = series.shutdown(max(0.0, ends_at - self._clock.now())) and done
        self._ended.set()
        return done

    def _record_series(self, series: SeriesBroadcaster) -> None:
        series.start_structured_logging(_LOG_VERBOSITY)
        series.start_recording_to_sink(self._client.resource(events_v1.Event))
