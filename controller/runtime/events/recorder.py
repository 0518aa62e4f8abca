"""
Events: words for people about an object, seen in `kubectl describe` and `kubectl events`.

Guarantees: recording never blocks and never raises, whatever becomes of the event. Behind a recorder is a
broadcaster: broadcaster.py writes core/v1, where equal messages are counted;
series_broadcaster.py writes events.k8s.io/v1, where whatever repeats is a series.
Follows: client-go tools/record/event.go and tools/events/event_recorder.go, differs: messages end after 1024
bytes in both, as those of events.k8s.io/v1 must.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, Protocol, TypeVar

import structlog

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.controller.runtime.events.reference import event_name, reference_to
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock

log = structlog.get_logger("events")

E = TypeVar("E")

EVENT_TYPE_NORMAL: Final = "Normal"
EVENT_TYPE_WARNING: Final = "Warning"
DEFAULT_NAMESPACE: Final = "default"
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


class SeriesRecorder(Protocol):
    """An EventRecorder that can say more: what was done, and with which other object."""

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
        """
        Report something about an object, as an EventRecorder does.

        Args: action CamelCase, what was done or tried, "" = the reason; related is a second object in it, one
            that cannot be referred to is left out.
        """


class EventRecording(Generic[E]):
    """
    Turns reports into events: what all recorders do with them.

    State, under _lock: _last_nanoseconds, rising with every event, so that no two have one name.
    Threads: any.
    """

    def __init__(self, publish: Callable[[E], str], *, clock: Clock = REAL_CLOCK) -> None:
        """Args: publish hands an event over and returns why somebody missed it."""
        self._publish = publish
        self._clock = clock
        self._lock = new_lock("EventRecording._lock", 95)
        self._last_nanoseconds = 0

    def record(
        self,
        obj: object,
        event_type: str,
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None,
        make: Callable[[ObjectReference, ObjectMeta, str], E],
    ) -> None:
        """
        Make an event of a report and publish it; what cannot be reported is logged.

        Args: make gets the reference to obj, the event's metadata, and the message cut to size.
        """
        reference = reference_to(obj)
        what = {"reason": reason, "message": message}
        if reference is None:
            log.error("Could not construct reference, will not report event", object=repr(obj), **what)
        elif event_type not in (EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING):
            log.error("Unsupported event type", eventType=event_type, **what)
        else:
            missed = self._publish(make(reference, self._metadata(reference, annotations), _cut(message)))
            if missed:
                log.error("Unable to record event (will not retry!)", err=missed, **what)

    def _metadata(self, about: ObjectReference, annotations: Mapping[str, str] | None) -> ObjectMeta:
        return ObjectMeta(
            name=event_name(about.name, self._next_nanoseconds()),
            namespace=about.namespace or DEFAULT_NAMESPACE,
            annotations=FrozenMap(annotations or {}),
        )

    def _next_nanoseconds(self) -> int:
        with self._lock:
            self._last_nanoseconds = max(self._last_nanoseconds + 1, int(self._clock.time() * 1e9))
            return self._last_nanoseconds


def _cut(message: str) -> str:
    """At most MAX_MESSAGE_BYTES of UTF-8; what cannot be encoded becomes "?"."""
    encoded = message.encode("utf-8", "replace")
    if len(encoded) > MAX_MESSAGE_BYTES:
        encoded = encoded[: MAX_MESSAGE_BYTES - 3].decode("utf-8", "ignore").encode() + b"..."
    return encoded.decode()
