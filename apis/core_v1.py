"""v1 (the core group): pod templates, Services and Events."""

from __future__ import annotations

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, ObjectMeta


class KeySelector(APIStruct):
    """One key of a Secret or ConfigMap."""

    name: str = ""
    key: str = ""
    optional: bool | None = None


class EnvVarSource(APIStruct):
    """The Secret or ConfigMap that a value comes from. Both are None if it comes from another source."""

    secret_key_ref: KeySelector | None = None
    config_map_key_ref: KeySelector | None = None


class EnvVar(APIStruct):
    """An environment variable."""

    name: str = ""
    value: str = ""
    value_from: EnvVarSource | None = None


class ContainerPort(APIStruct, omit_defaults=True):
    """A container's port, with all its fields, because a list of ports is replaced as a whole."""

    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"
    host_port: int = 0
    host_ip: str = ""


class ResourceAmounts(APIStruct):
    """Amounts as Kubernetes quantities; "" means not set."""

    cpu: str = ""
    memory: str = ""


class ResourceRequirements(APIStruct):
    """The most that a container may use, and the amounts reserved for it."""

    limits: ResourceAmounts = ResourceAmounts()
    requests: ResourceAmounts = ResourceAmounts()


class Container(APIStruct):
    """One container of a pod."""

    name: str
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[EnvVar, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(APIStruct):
    """The containers of a pod."""

    containers: tuple[Container, ...] = ()


class PodTemplateSpec(APIStruct):
    """The labels and spec of the pods to create."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ServicePort(APIStruct, omit_defaults=True):
    """
    A port of a Service, with all its fields, because a list of ports is replaced as a whole.

    target_port is a number or the name of a container's port.
    """

    name: str = ""
    port: int = 0
    target_port: int | str = 0
    protocol: str = "TCP"
    app_protocol: str | None = None
    node_port: int = 0


class ServiceSpec(APIStruct, omit_defaults=True):
    """How to reach the pods."""

    type: str = "ClusterIP"
    selector: FrozenMap = EMPTY_MAP
    ports: tuple[ServicePort, ...] = ()


class Service(Kind, group="", version="v1", short_names=("svc",)):
    """A typed view without the fields that the server allocates, so change it by patch."""

    spec: ServiceSpec = ServiceSpec()


class ObjectReference(APIStruct):
    """The object that an Event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class EventSource(APIStruct):
    """The component that reports an Event."""

    component: str = ""
    host: str = ""


class Event(Kind, group="", version="v1", short_names=("ev",)):
    """Something that happened to an object, described for people. Times are RFC 3339 strings."""

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


class Namespace(Kind, group="", version="v1", scope="Cluster"):
    """A namespace, of which only the metadata is declared."""
