"""events.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.core_v1 import EventSource, ObjectReference


class EventSeries(APIStruct):
    count: int
    last_observed_time: str | None = None


class Event(Kind, group="events.k8s.io", version="v1", short_names=("ev",), partial=False):
    action: str | None = None
    deprecated_count: int | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    deprecated_source: EventSource = EventSource()
    event_time: str | None = None
    note: str | None = None
    reason: str | None = None
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None
    series: EventSeries | None = None
    type: str | None = None
