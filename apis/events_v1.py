"""events.k8s.io/v1: Events whose repetitions are one series. The server keeps them with those of core/v1."""

from __future__ import annotations

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import APIStruct, Kind


class EventSeries(APIStruct):
    """How often an Event happened, at least twice, and when it last did (RFC 3339, microseconds)."""

    count: int = 0
    last_observed_time: str | None = None


class Event(Kind, group="events.k8s.io", version="v1", short_names=("ev",)):
    """
    Something that happened to an object during an action, in words for people.

    action = the thing done or tried; related = a second object in it; event_time has microseconds. Once an
    Event is written, only its series may change.
    """

    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
