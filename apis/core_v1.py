"""v1 (the core group): pod templates, Services and Events."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, ObjectMeta
from handloop.apis.resource import Resource


class KeySelector(APIStruct, frozen=True, gc=False):
    """One key of a Secret or ConfigMap."""

    name: str = ""
    key: str = ""
    optional: bool | None = None


class EnvVarSource(APIStruct, frozen=True, gc=False):
    """The Secret or ConfigMap that a value comes from; a value of another source has neither."""

    secret_key_ref: KeySelector | None = None
    config_map_key_ref: KeySelector | None = None


class EnvVar(APIStruct, frozen=True, gc=False):
    """An environment variable."""

    name: str = ""
    value: str = ""
    value_from: EnvVarSource | None = None


class ContainerPort(APIStruct, frozen=True, gc=False):
    """A port that a container listens on, with all members: lists of ports are replaced as a whole."""

    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")


class ResourceAmounts(APIStruct, frozen=True, gc=False):
    """Amounts as Kubernetes quantities, "" = not set."""

    cpu: str = ""
    memory: str = ""


class ResourceRequirements(APIStruct, frozen=True, gc=False):
    """The most that a container may use, and the amounts reserved for it."""

    limits: ResourceAmounts = ResourceAmounts()
    requests: ResourceAmounts = ResourceAmounts()


class Container(APIStruct, frozen=True, gc=False):
    """One container of a pod."""

    name: str
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[EnvVar, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(APIStruct, frozen=True, gc=False):
    """The containers of a pod."""

    containers: tuple[Container, ...] = ()


class PodTemplateSpec(APIStruct, frozen=True, gc=False):
    """The labels and spec of pods to be made."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ServicePort(APIStruct, frozen=True, gc=False):
    """
    A port of a Service, with all members: lists of ports are replaced as a whole.

    target_port is a number or the name of a container's port.
    """

    name: str = ""
    port: int = 0
    target_port: int | str = 0
    protocol: str = "TCP"
    app_protocol: str | None = None
    node_port: int = 0


class ServiceSpec(APIStruct, frozen=True, gc=False):
    """How pods are reached."""

    type: str = "ClusterIP"
    selector: FrozenMap = EMPTY_MAP
    ports: tuple[ServicePort, ...] = ()


class Service(Kind, frozen=True, gc=False, tag="Service"):
    """A typed view without the fields that the server allocates, so change it by patch."""

    resource: ClassVar[Resource] = Resource(
        "", "v1", "services", "Service", singular="service", short_names=("svc",)
    )

    api_version: Literal["v1"] = "v1"
    spec: ServiceSpec = ServiceSpec()


class ObjectReference(APIStruct, frozen=True, gc=False):
    """The object that an Event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class EventSource(APIStruct, frozen=True, gc=False):
    """The component that reports an Event."""

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
