"""
Events: messages for people about an object, shown by `kubectl describe` and `kubectl events`.

Guarantees: recording never blocks and never raises, even if the Event is lost. A broadcaster writes the
recorder's Events as core/v1 Events, which count repetitions.
Follows: client-go tools/record/event.go, tools/reference/ref.go and tools/internal/events
(GenerateEventName), differs: messages are truncated to 1024 bytes, the limit of events.k8s.io/v1.
Decision: One kind of Event.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from handloop.apis.core_v1 import Event, EventSource, ObjectReference
from handloop.apis.decoders import decoder_of
from handloop.apis.grammar.times import format_time
from handloop.apis.meta import FrozenMap, Kind, ObjectMeta
from handloop.apis.resource import Resource
from handloop.client.decoding.pages import Undecodable
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger, in_words

log = get_logger("events")

EVENT_TYPE_NORMAL: Final = "Normal"
"""The type of an Event that reports normal progress."""
EVENT_TYPE_WARNING: Final = "Warning"
"""The type of an Event that reports a problem."""
DEFAULT_NAMESPACE: Final = "default"
MAX_MESSAGE_BYTES: Final = 1024


class EventRecorder(Protocol):
    """Records Events about objects for a controller."""

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
        Record an Event about an object, which is a Kind or an ObjectReference.

        Args: event_type is Normal or Warning; reason is in CamelCase, for programs; message is for people.
        """


class PublishingRecorder:
    """
    An EventRecorder that creates Events of core/v1 and publishes them.

    State, under _lock: _last_nanoseconds, the number in the last Event's name, which always increases so that
    names are unique.
    Threads: any thread may record.
    """

    def __init__(
        self, publish: Callable[[Event], str], source: EventSource, *, clock: Clock = REAL_CLOCK
    ) -> None:
        """Args: publish passes an Event to the watchers, and returns why one of them missed it."""
        self._publish = publish
        self._source = source
        self._clock = clock
        self._lock = new_lock("PublishingRecorder._lock", 95)
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
        """Like EventRecorder.event. If no Event can be recorded, the reason is logged."""
        reference = reference_to(obj)
        what = {"reason": reason, "message": message}
        if reference is None:
            log.error(
                "Could not construct reference, will not report event", object=in_words(obj, repr), **what
            )
        elif event_type not in (EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING):
            log.error("Unsupported event type", eventType=event_type, **what)
        else:
            metadata = self._metadata(reference, annotations)
            missed = self._publish(self._made(metadata, reference, event_type, reason, _cut(message)))
            if missed:
                log.error("Unable to record event (will not retry!)", err=missed, **what)

    def _made(
        self, metadata: ObjectMeta, about: ObjectReference, event_type: str, reason: str, message: str
    ) -> Event:
        at = format_time(self._clock.time())
        return Event(
            metadata=metadata,
            involved_object=about,
            type=event_type,
            reason=reason,
            message=message,
            source=self._source,
            reporting_component=self._source.component,
            reporting_instance=self._source.host,
            first_timestamp=at,
            last_timestamp=at,
            count=1,
        )

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


def _cut(message: object) -> str:
    """
    Return at most MAX_MESSAGE_BYTES of UTF-8. Characters that cannot be encoded become "?".

    Args: message is a str, or another value that was passed by mistake, such as an error.
    """
    encoded = in_words(message).encode("utf-8", "replace")
    if len(encoded) > MAX_MESSAGE_BYTES:
        encoded = encoded[: MAX_MESSAGE_BYTES - 3].decode("utf-8", "ignore").encode() + b"..."
    return encoded.decode()


_MAX_NAME_LENGTH: Final = 253
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.ASCII)


def reference_to(obj: object) -> ObjectReference | None:
    """
    Return a reference to an object of a Kind. A reference is returned unchanged.

    Returns: None for a value of another type.
    """
    if isinstance(obj, ObjectReference):
        return obj
    return reference_to_kind(obj) if isinstance(obj, Kind) else None


def reference_to_kind(obj: Kind) -> ObjectReference:
    """Return a reference to an object of a Kind."""
    return ObjectReference(
        api_version=obj.resource.api_version,
        kind=obj.resource.kind,
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        uid=obj.metadata.uid,
        resource_version=obj.metadata.resource_version,
    )


def event_name(object_name: str, unix_nanoseconds: int) -> str:
    """
    Return `<object name>.<hex of nanoseconds>` if valid, otherwise a UUID computed from the two.

    The UUID is not random, so that the name depends only on the arguments.
    """
    name = f"{object_name}.{unix_nanoseconds:x}"
    if len(name) <= _MAX_NAME_LENGTH and _DNS_SUBDOMAIN.fullmatch(name):
        return name
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Identity(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


def reference_to_undecodable(resource: Resource, undecodable: Undecodable) -> ObjectReference:
    """
    Return a reference to an object that does not fit its type.

    `kubectl describe` finds Events by UID, so the UID is read from the raw object. It is "" if it cannot be
    read.
    """
    try:
        uid = decoder_of(_Identity).decode(undecodable.raw).metadata.uid
    except (msgspec.MsgspecError, ValueError):  # truncated at 64 kB, or with unusable metadata
        uid = ""
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=undecodable.key_namespace,
        name=undecodable.key_name,
        uid=uid,
        resource_version=undecodable.resource_version,
    )
