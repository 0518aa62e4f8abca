"""v1 (the core group): pod templates and events."""

from __future__ import annotations

from typing import ClassVar, Literal

from apis.meta import APIStruct, Kind, ObjectMeta
from apis.resource import Resource


class Container(APIStruct, frozen=True, gc=False):
    """One container of a pod."""

    name: str
    image: str = ""


class PodSpec(APIStruct, frozen=True, gc=False):
    """What a pod runs."""

    containers: tuple[Container, ...] = ()


class PodTemplateSpec(APIStruct, frozen=True, gc=False):
    """What a pod will look like."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ObjectReference(APIStruct, frozen=True, gc=False):
    """Which object an event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class EventSource(APIStruct, frozen=True, gc=False):
    """Who reports an event."""

    component: str = ""
    host: str = ""


class Event(Kind, frozen=True, gc=False, tag="Event"):
    """Something that happened to an object, in words for people. Times are RFC 3339 strings."""

    resource: ClassVar[Resource] = Resource(
        "", "v1", "events", "Event", singular="event", short_names=("ev",)
    )

    api_version: Literal["v1"] = "v1"
    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    type: str = ""
    source: EventSource = EventSource()
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: int = 0
    reporting_component: str = ""
    reporting_instance: str = ""
