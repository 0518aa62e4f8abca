"""Events as a recorder makes them, and a place where they are written that can refuse on command."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from handloop.apis.core_v1 import Event, EventSource, ObjectReference
from handloop.apis.meta import ObjectMeta
from handloop.client.resource_client import PatchType


def new_event(
    *,
    reason: str = "Reason",
    message: str = "message",
    event_type: str = "Normal",
    component: str = "component",
    host: str = "host",
    object_name: str = "my-object",
    field_path: str = "",
    at: str = "2023-11-14T22:13:20Z",
) -> Event:
    """An event as a recorder makes it, once."""
    return Event(
        metadata=ObjectMeta(name=f"{object_name}.1", namespace="default"),
        involved_object=ObjectReference(
            api_version="v1",
            kind="Pod",
            namespace="default",
            name=object_name,
            uid=f"uid-of-{object_name}",
            field_path=field_path,
        ),
        type=event_type,
        reason=reason,
        message=message,
        source=EventSource(component=component, host=host),
        reporting_component=component,
        reporting_instance=host,
        first_timestamp=at,
        last_timestamp=at,
        count=1,
    )


def pod_reference(name: str) -> ObjectReference:
    """What an event about a pod refers to."""
    return ObjectReference(api_version="v1", kind="Pod", namespace="default", name=name, uid=f"uid-{name}")


_DEADLINE_SECONDS = 30.0


class SinkCall(NamedTuple):
    """One request: patch is None for a create."""

    event: Event | None
    name: str
    namespace: str
    patch: dict[str, Any] | None


class FakeEventSink:
    """
    Implements EventSink: records every call, stores each written Event.

    outcome is asked before each call, with the number of calls so far; an exception it returns is raised.
    """

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda _call: None) -> None:
        self._outcome = outcome
        self._changed = threading.Condition()
        self.calls: list[SinkCall] = []
        self.stored: dict[str, Event] = {}

    def create(self, obj: Event, *, namespace: str) -> Event:
        self._record(SinkCall(obj, obj.metadata.name, namespace, None))
        return self._store(obj)

    def patch(self, name: str, patch: Any, *, namespace: str, patch_type: PatchType) -> Event:
        assert patch_type is PatchType.STRATEGIC
        self._record(SinkCall(None, name, namespace, patch))
        changed = msgspec.structs.replace(
            self.stored[name],
            count=patch["count"],
            last_timestamp=patch["lastTimestamp"],
            message=patch["message"],
        )
        return self._store(changed)

    def wait_for_calls(self, count: int) -> None:
        """Block until there were count calls; raises after 30 seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.calls) >= count, _DEADLINE_SECONDS):
                raise TimeoutError(f"{len(self.calls)} of {count} expected calls")

    def _record(self, call: SinkCall) -> None:
        with self._changed:
            error = self._outcome(len(self.calls))
            self.calls.append(call)
            self._changed.notify_all()
        if error is not None:
            raise error

    def _store(self, event: Event) -> Event:
        metadata = msgspec.structs.replace(event.metadata, resource_version=str(len(self.calls)))
        self.stored[event.metadata.name] = msgspec.structs.replace(event, metadata=metadata)
        return self.stored[event.metadata.name]
