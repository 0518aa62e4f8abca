"""
Events: words for people about an object, seen in `kubectl describe` and `kubectl events`.

    recorder --event()--> broadcaster --> watcher "log"    --> one log line
                                     |--> watcher "sink-1" --> correlate --> create or patch

Guarantees: recording never blocks and never raises, whatever becomes of the event. Each watcher sees the
events from its start on, in the order recorded, on a thread of its own; one that is 1000 events behind loses
new ones, and only it.
Follows: client-go tools/record/event.go, differs: recorders feed the watchers directly instead of through one
more queue and goroutine, so a full watcher is logged; shutdown() tries what is queued once, upstream may lose
it; messages end after 1024 bytes, as those of events.k8s.io/v1 must.
"""

from __future__ import annotations

import random as random_module
import threading
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

import structlog

from apis.core_v1 import Event, EventSource, ObjectReference
from apis.meta import FrozenMap, ObjectMeta
from apis.time import format_time
from controller.runtime.events_correlator import DEFAULT_OPTIONS, CorrelatorOptions, EventCorrelator
from controller.runtime.events_reference import event_name, reference_to
from controller.runtime.events_sink import EventSink, EventWriter, SinkStatistics
from controller.runtime.events_watcher import EventWatcher
from workqueue.clock import REAL_CLOCK, Clock
from workqueue.locks import new_lock
from workqueue.spawn import Spawn, spawn_thread

log = structlog.get_logger("events")

EVENT_TYPE_NORMAL: Final = "Normal"
EVENT_TYPE_WARNING: Final = "Warning"
DEFAULT_NAMESPACE: Final = "default"
QUEUE_LENGTH: Final = 1000
MAX_MESSAGE_BYTES: Final = 1024


class EventRecorder(Protocol):
    """What a controller reports through."""

    def event(
        self,
        obj: object,
        event_type: str,
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """
        Report something about an object: one of our kinds, or an ObjectReference.

        Args: event_type Normal or Warning; reason CamelCase, for programs; message for people.
        """


class EventStatistics(NamedTuple):
    """Over all watchers: events waiting, lost to full queues or a shutdown, and what the sinks did."""

    queued: int
    dropped: int
    sinks: SinkStatistics


class EventBroadcaster:
    """
    Gives each event to every watcher: sinks, logs, and functions.

    State, under _lock: _watchers; _writers; _dropped; _closed (never goes back).
    Threads: any; each watcher has its own thread `events-<name>`.
    Locks: _lock is held while watchers take theirs, so all watchers see one order.
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
        self._queue_length = queue_length
        self._clock = clock
        self._random = random
        self._spawn = spawn
        self._stop = threading.Event()
        self._lock = new_lock("EventBroadcaster._lock", 95)
        self._watchers: list[EventWatcher] = []
        self._writers: list[EventWriter] = []
        self._dropped = 0
        self._closed = False

    def start_recording_to_sink(self, sink: EventSink) -> EventWatcher:
        """Write every event from here on to a sink, such as `client.resource(Event)`, with its own counts."""
        correlator = EventCorrelator(self._correlator_options, clock=self._clock)
        writer = EventWriter(sink, correlator, self._stop, clock=self._clock, random=self._random)
        with self._lock:
            self._writers.append(writer)
            number = len(self._writers)
        return self.start_event_watcher(f"sink-{number}", writer.write)

    def start_logging(self, write: Callable[[str], None]) -> EventWatcher:
        """Give every event from here on to write as one line of text."""
        return self.start_event_watcher("log", lambda event: write(format_event(event)))

    def start_structured_logging(self, verbosity: int = 0) -> EventWatcher:
        """Log every event from here on, at a -v level."""
        return self.start_event_watcher("log", lambda event: _log_event(event, verbosity))

    def start_event_watcher(self, name: str, handle: Callable[[Event], None]) -> EventWatcher:
        """
        Call handle with every event from here on.

        Returns: the watcher; close() ends it alone. After shutdown() it is closed from the start.
        """
        watcher = EventWatcher(name, handle, length=self._queue_length, clock=self._clock, spawn=self._spawn)
        with self._lock:
            self._watchers.append(watcher)
            closed = self._closed
        if closed:
            watcher.close()
        return watcher

    def new_recorder(self, component: str, *, host: str = "") -> EventRecorder:
        """A recorder that reports in the name of a component."""
        return _Recorder(self, EventSource(component=component, host=host), self._clock)

    def publish(self, event: Event) -> str:
        """
        Give an event to every watcher that has room.

        Returns: why somebody missed it, in words; "" when nobody did.
        """
        with self._lock:
            if self._closed:
                self._dropped += 1
                return "broadcaster is shut down"
            full = [watcher.name for watcher in self._watchers if not watcher.offer(event)]
            self._dropped += len(full)
        return f"too many queued events for {', '.join(full)}" if full else ""

    def shutdown(self, timeout_seconds: float = 5.0) -> bool:
        """
        Take no more events, try each queued one once, and end the threads. Idempotent.

        Returns: False when a thread was still busy with an event after the time, and the rest was dropped.
        Blocks: up to timeout_seconds for each watcher.
        """
        with self._lock:
            self._closed = True
            watchers = list(self._watchers)
        self._stop.set()
        for watcher in watchers:
            watcher.close()
        deadline = self._clock.now() + timeout_seconds
        late = [w for w in watchers if not w.join(max(0.0, deadline - self._clock.now()))]
        discarded = sum(watcher.discard() for watcher in late)
        with self._lock:
            self._dropped += discarded
        return not late

    def statistics(self) -> EventStatistics:
        """A snapshot, for metrics and tests."""
        with self._lock:
            queued = sum(len(watcher) for watcher in self._watchers)
            sinks = [writer.statistics() for writer in self._writers]
            return EventStatistics(queued, self._dropped, SinkStatistics(*map(sum, zip(*sinks, strict=True))))


class _Recorder:
    """
    Builds events and publishes them.

    State, under _lock: _last_nanoseconds, rising with every event, so that no two have one name.
    """

    def __init__(self, broadcaster: EventBroadcaster, source: EventSource, clock: Clock) -> None:
        self._broadcaster = broadcaster
        self._source = source
        self._clock = clock
        self._lock = new_lock("EventRecorder._lock", 95)
        self._last_nanoseconds = 0

    def event(
        self,
        obj: object,
        event_type: str,
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        reference = reference_to(obj)
        what = {"reason": reason, "message": message}
        if reference is None:
            log.error("Could not construct reference, will not report event", object=repr(obj), **what)
        elif event_type not in (EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING):
            log.error("Unsupported event type", eventType=event_type, **what)
        else:
            missed = self._broadcaster.publish(
                self._make_event(reference, event_type, reason, message, annotations)
            )
            if missed:
                log.error("Unable to record event (will not retry!)", err=missed, **what)

    def _make_event(
        self,
        reference: ObjectReference,
        event_type: str,
        reason: str,
        message: str,
        annotations: Mapping[str, str] | None,
    ) -> Event:
        at = format_time(self._clock.time())
        return Event(
            metadata=ObjectMeta(
                name=event_name(reference.name, self._next_nanoseconds()),
                namespace=reference.namespace or DEFAULT_NAMESPACE,
                annotations=FrozenMap(annotations or {}),
            ),
            involved_object=reference,
            type=event_type,
            reason=reason,
            message=_cut(message),
            source=self._source,
            reporting_component=self._source.component,
            reporting_instance=self._source.host,
            first_timestamp=at,
            last_timestamp=at,
            count=1,
        )

    def _next_nanoseconds(self) -> int:
        with self._lock:
            self._last_nanoseconds = max(self._last_nanoseconds + 1, int(self._clock.time() * 1e9))
            return self._last_nanoseconds


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


def _cut(message: str) -> str:
    """At most MAX_MESSAGE_BYTES of UTF-8; what cannot be encoded becomes "?"."""
    encoded = message.encode("utf-8", "replace")
    if len(encoded) > MAX_MESSAGE_BYTES:
        encoded = encoded[: MAX_MESSAGE_BYTES - 3].decode("utf-8", "ignore").encode() + b"..."
    return encoded.decode()
