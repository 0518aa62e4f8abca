"""events.k8s.io/v1: Events whose repetitions are one series. The server keeps them with those of core/v1."""

from __future__ import annotations

from typing import ClassVar, Literal

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.resource import Resource


class EventSeries(APIStruct, frozen=True, gc=False):
    """How often an Event happened, at least twice, and when it last did (RFC 3339, microseconds)."""

    count: int = 0
    last_observed_time: str | None = None


class Event(Kind, frozen=True, gc=False, tag="Event"):
    """
    Something that happened to an object during an action, in words for people.

    action = the thing done or tried; related = a second object in it; event_time has microseconds. Once an
    Event is written, only its series may change.
    """

    resource: ClassVar[Resource] = Resource(
        "events.k8s.io", "v1", "events", "Event", singular="event", short_names=("ev",)
    )

    api_version: Literal["events.k8s.io/v1"] = "events.k8s.io/v1"
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
