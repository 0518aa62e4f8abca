"""Events of events.k8s.io/v1 for tests, as a recorder makes them."""

from __future__ import annotations

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event
from handloop.apis.meta import ObjectMeta


def new_series_event(
    *, name: str = "my-object.1", action: str = "started", controller: str = "component", note: str = "note"
) -> Event:
    """An event as a recorder makes it, once."""
    return Event(
        metadata=ObjectMeta(name=name, namespace="default"),
        event_time="2023-11-14T22:13:20.000000Z",
        reporting_controller=controller,
        reporting_instance=f"{controller}-host",
        action=action,
        reason="Reason",
        regarding=ObjectReference(api_version="v1", kind="Pod", namespace="default", name="my-object"),
        note=note,
        type="Normal",
    )
