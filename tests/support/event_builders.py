"""Events for tests, as a recorder makes them."""

from __future__ import annotations

from handloop.apis.core_v1 import Event, EventSource, ObjectReference
from handloop.apis.meta import ObjectMeta


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
