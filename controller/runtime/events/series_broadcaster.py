"""
Events of events.k8s.io/v1, from recorders to a sink and a log.

    recorder --event()--> broadcaster --> watcher "series-log"   --> one log line
                                     '--> watcher "series-sink"  --> count --> create or patch
                                          upkeep, every 6 min    --> patch what goes on, or has ended

Guarantees: as broadcaster.py. Events that repeat are one object on the server, whatever their notes
say; it has the note of the first.
Follows: client-go tools/events/event_broadcaster.go, differs: no second queue before the sink; shutdown()
tries what is queued once. What was counted but not written by then is lost, as upstream.
"""

from __future__ import annotations

import random as random_module
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event
from handloop.apis.meta import ObjectMeta
from handloop.apis.time import format_micro_time
from handloop.controller.runtime.access import Access
from handloop.controller.runtime.events.delivery import EventSink, SinkStatistics
from handloop.controller.runtime.events.fanout import QUEUE_LENGTH, EventFanout
from handloop.controller.runtime.events.recorder import EventRecording, SeriesRecorder
from handloop.controller.runtime.events.reference import reference_to
from handloop.controller.runtime.events.series import FINISH_SECONDS, SeriesCache
from handloop.controller.runtime.events.series_sink import SeriesWriter
from handloop.controller.runtime.events.watcher import EventWatcher
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock
from handloop.workqueue.spawn import Joinable, Spawn, spawn_thread

log = structlog.get_logger("events")

SERIES_EVENTS_ACCESS: Final = Access(resource=Event.resource, verbs=("create", "patch"))
"""What a controller asks of the server that reports through a SeriesRecorder."""

REFRESH_SECONDS: Final = 1800.0
_FINISHES_PER_REFRESH: Final = round(REFRESH_SECONDS / FINISH_SECONDS)


class SeriesBroadcaster:
    """
    Gives each event to a sink, a log, and functions.

    State, under _lock: _writer and _upkeep, None until there is a sink.
    Threads: any; each watcher has its own thread `events-<name>`; `events-upkeep` refreshes and finishes.
    """

    def __init__(
        self,
        *,
        queue_length: int = QUEUE_LENGTH,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = random_module.random,
        spawn: Spawn = spawn_thread,
    ) -> None:
        self._clock = clock
        self._random = random
        self._spawn = spawn
        self._fanout: EventFanout[Event] = EventFanout(queue_length=queue_length, clock=clock, spawn=spawn)
        self._stop = threading.Event()
        self._lock = new_lock("SeriesBroadcaster._lock", 94)
        self._writer: SeriesWriter | None = None
        self._upkeep: Joinable | None = None

    def start_recording_to_sink(self, sink: EventSink[Event]) -> EventWatcher[Event]:
        """
        Write the events from here on to a sink, such as `client.resource(Event)`.

        Raises: RuntimeError when there is one already.
        """
        cache = SeriesCache(clock=self._clock)
        writer = SeriesWriter(sink, cache, self._stop, clock=self._clock, random=self._random)
        with self._lock:
            if self._writer is not None:
                raise RuntimeError("broadcaster is already recording to a sink")
            self._writer = writer
            self._upkeep = self._spawn("events-upkeep", lambda: self._keep_up(writer))
        return self.start_event_watcher("series-sink", writer.write)

    def start_structured_logging(self, verbosity: int) -> EventWatcher[Event]:
        """Log every event from here on, at a -v level."""
        return self.start_event_watcher("series-log", lambda event: _log_event(event, verbosity))

    def start_event_watcher(self, name: str, handle: Callable[[Event], None]) -> EventWatcher[Event]:
        """
        Call handle with every event from here on.

        Returns: the watcher; close() ends it alone. After shutdown() it is closed from the start.
        """
        return self._fanout.start_watcher(name, handle)

    def new_recorder(self, component: str, *, host: str = "") -> SeriesRecorder:
        """
        A recorder that reports in the name of a component.

        Args: component is a qualified name, such as `example.com/backups`; host "" = this machine's name.
        """
        return _Recorder(self._fanout, component, f"{component}-{host or socket.gethostname()}", self._clock)

    def shutdown(self, timeout_seconds: float = 5.0) -> bool:
        """
        Take no more events, try each queued one once, and end the threads. Idempotent.

        Returns: False when a thread was still busy with an event after the time, and the rest was dropped.
        Blocks: up to timeout_seconds.
        """
        self._stop.set()
        deadline = self._clock.now() + timeout_seconds
        done = self._fanout.shutdown(timeout_seconds)
        with self._lock:
            upkeep = self._upkeep
        if upkeep is None:
            return done
        upkeep.join(max(0.0, deadline - self._clock.now()))
        return done and not upkeep.is_alive()

    def statistics(self) -> SinkStatistics:
        """What has become of the events that had to be written."""
        with self._lock:
            writer = self._writer
        return SinkStatistics() if writer is None else writer.statistics()

    def _keep_up(self, writer: SeriesWriter) -> None:
        finishes = 0
        while not self._clock.sleep(FINISH_SECONDS, self._stop):
            writer.finish()
            finishes += 1
            if finishes % _FINISHES_PER_REFRESH == 0:
                writer.refresh()


class _Recorder:
    """Builds events of events.k8s.io/v1 and publishes them."""

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


def _log_event(event: Event, verbosity: int) -> None:
    about = event.regarding
    log.debug(
        "Event occurred",
        v=verbosity,
        object=f"{about.namespace}/{about.name}" if about.namespace else about.name,
        kind=about.kind,
        apiVersion=about.api_version,
        type=event.type,
        reason=event.reason,
        action=event.action,
        note=event.note,
    )
