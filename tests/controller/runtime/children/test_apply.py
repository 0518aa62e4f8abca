"""Server-side apply of what a controller owns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment, DeploymentSpec, LabelSelector
from handloop.apis.autoscaling_v2 import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
    MetricSpec,
    MetricTarget,
    ResourceMetricSource,
)
from handloop.apis.core_v1 import (
    Container,
    ContainerPort,
    EnvVar,
    PodSpec,
    PodTemplateSpec,
    ResourceAmounts,
    ResourceRequirements,
    Service,
    ServicePort,
    ServiceSpec,
)
from handloop.apis.declaration import is_built_in
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, ObjectMeta, OwnerReference
from handloop.client.errors import Conflict
from handloop.controller.runtime.children import applied_fields as tables
from handloop.controller.runtime.children.applied_fields import is_applied, owned_fields
from handloop.controller.runtime.children.apply import apply
from handloop_sandbox.kinds.kind_table import named_schema, resource_entries
from handloop_sandbox.kinds.structure import items_of, list_type, map_keys, map_type, properties, value_of
from support.rigs.managed_sandbox import ManagedSandbox

# lists of schemas, Endpoints, Nodes and of a claim's status, which are taken for replaced
SELDOM_APPLIED = {
    "x-kubernetes-validations",
    "addresses",
    "podCIDRs",
    "conditions",
    "drivers",
    "namespaces",
    "nonResourceURLs",
    "verbs",
    "volumeLifecycleModes",
}
META = ObjectMeta(name="s", namespace="default")


class ConfigMap(Kind, group="", version="v1"):
    """A map at the top."""

    data: FrozenMap = EMPTY_MAP


class Subject(APIStruct):
    """Who is bound."""

    kind: str
    name: str
    namespace: str = ""
    api_group: str = ""


class RoleRef(APIStruct):
    """What to."""

    kind: str
    name: str
    api_group: str


class RoleBinding(Kind, group="rbac.authorization.k8s.io", version="v1"):
    """A list whose elements have names and that is replaced as a whole all the same."""

    role_ref: RoleRef = RoleRef(kind="Role", name="r", api_group="rbac.authorization.k8s.io")
    subjects: tuple[Subject, ...]


class Strategy(APIStruct):
    """A struct that the server fills in."""

    type: str = ""


class RolloutSpec(APIStruct):
    """Fields with the names of a pod's; fields without a default are always sent."""

    containers: tuple[Container, ...]
    ports: tuple[ServicePort, ...] = ()
    strategy: Strategy | None = None
    resources: ResourceRequirements = ResourceRequirements()


class Rollout(Kind, group="example.org", version="v1"):
    """A custom kind."""

    spec: RolloutSpec


def wanted(port: int = 80, **labels: str) -> Service:
    """A Service as a controller wants it."""
    return Service(
        metadata=ObjectMeta(name="s", namespace="default", labels=FrozenMap(labels)),
        spec=ServiceSpec(ports=(ServicePort(name="http", port=port),), selector=FrozenMap({"app": "a"})),
    )


def test_what_the_server_writes_is_not_applied() -> None:
    """Status, version and UID are not ours; kind and version of the API are there."""
    read = replace(
        wanted(), metadata=ObjectMeta(name="s", namespace="default", uid="u", resource_version="7")
    )
    fields = owned_fields(read)
    assert fields["metadata"] == {"name": "s", "namespace": "default"}
    assert (fields["kind"], fields["apiVersion"]) == ("Service", "v1")
    assert "status" not in fields


def test_apply_creates_changes_and_leaves_the_rest_alone(cluster: ManagedSandbox) -> None:
    """The first makes the object, the next changes its fields; another manager's label stays."""
    services = cluster.client.resource(Service)
    made = apply(services, wanted(a="1"), field_manager="us")
    services.patch("s", {"metadata": {"labels": {"theirs": "x"}}}, namespace="default", field_manager="they")
    after = apply(services, wanted(8080, a="2"), field_manager="us")
    assert after.metadata.uid == made.metadata.uid
    assert dict(after.metadata.labels) == {"a": "2", "theirs": "x"}
    assert [port.port for port in after.spec.ports] == [8080]


def test_anothers_field_is_taken_over_only_by_force(cluster: ManagedSandbox) -> None:
    """Without force the server names the manager that set it."""
    services = cluster.client.resource(Service)
    apply(services, wanted(a="1"), field_manager="they")
    with pytest.raises(Conflict, match="they"):
        apply(services, wanted(a="2"), field_manager="us", force=False)
    assert apply(services, wanted(a="2"), field_manager="us").metadata.labels["a"] == "2"


@pytest.mark.parametrize(
    ("desired", "present", "applied"),
    [
        (wanted(a="1"), wanted(a="1", more="x"), True),
        (wanted(a="1"), wanted(a="2"), False),
        (wanted(a="1"), wanted(), False),
        (wanted(80), wanted(81), False),
    ],
)
def test_only_sent_fields_are_compared(desired: Service, present: Service, applied: bool) -> None:
    """More is no difference; less and other is."""
    assert is_applied(desired, present) is applied


def test_lists_are_compared_by_key_where_the_server_merges_them() -> None:
    """A port, an owner or a finalizer that another client added does not count; a missing one does."""
    ports = (ServicePort(name="http", port=80), ServicePort(name="more", port=81))
    present = replace(wanted(), spec=replace(wanted().spec, ports=ports))
    assert is_applied(wanted(), present)
    assert not is_applied(present, wanted())
    both, one = with_metadata(finalizers=("a", "b")), with_metadata(finalizers=("b",))
    assert is_applied(one, both)
    assert not is_applied(both, one)
    ours, theirs = (OwnerReference(api_version="v1", kind="K", name="o", uid=uid) for uid in "uv")
    assert is_applied(with_metadata(owner_references=(ours,)), with_metadata(owner_references=(theirs, ours)))
    assert not is_applied(with_metadata(owner_references=(ours,)), with_metadata(owner_references=(theirs,)))


def with_metadata(**fields: Any) -> ConfigMap:
    """A ConfigMap with more metadata."""
    return ConfigMap(metadata=replace(META, **fields))


def binding(*names: str, kind: str = "User", **fields: str) -> RoleBinding:
    """A binding of some users."""
    return RoleBinding(
        metadata=META, subjects=tuple(Subject(kind=kind, name=name, **fields) for name in names)
    )


def test_a_list_that_is_replaced_as_a_whole_must_be_equal() -> None:
    """Names in the elements merge nothing: who was added to a role binding must go."""
    assert is_applied(binding("alice"), binding("alice"))
    assert not is_applied(binding("alice"), binding("alice", "mallory"))
    assert not is_applied(binding("alice", "bob"), binding("bob", "alice"))
    assert not is_applied(binding(), binding("mallory"))


def test_a_map_that_is_replaced_as_a_whole_must_be_equal() -> None:
    """A selector is, labels are not; nor is any other map, unless it is sent empty."""
    selector = FrozenMap({"app": "a", "more": "x"})
    assert not is_applied(wanted(), replace(wanted(), spec=replace(wanted().spec, selector=selector)))
    full, empty = (
        ConfigMap(metadata=META, data=FrozenMap({"k": "v"})),
        ConfigMap(metadata=META, data=FrozenMap()),
    )
    assert is_applied(full, replace(full, data=FrozenMap({"k": "v", "more": "x"})))
    assert not is_applied(empty, full)
    assert is_applied(empty, empty)
    assert is_applied(with_metadata(labels=FrozenMap()), with_metadata(labels=FrozenMap({"theirs": "x"})))


def test_what_equals_its_default_is_neither_sent_nor_compared() -> None:
    """A type of Service that is wanted as it would be anyway is left to others."""
    node_port = replace(wanted(), spec=replace(wanted().spec, type="NodePort"))
    assert "type" not in owned_fields(wanted())["spec"]
    assert is_applied(wanted(), node_port)
    assert not is_applied(node_port, wanted())


def deployment(**fields: Any) -> Deployment:
    """Pods of one container."""
    labels = FrozenMap({"app": "a"})
    pods = PodSpec(containers=(Container(name="c", image="i", **fields),))
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pods)
    spec = DeploymentSpec(replicas=0, selector=LabelSelector(match_labels=labels), template=template)
    return Deployment(metadata=META, spec=spec)


def env(*names: str) -> Deployment:
    """Pods with these variables."""
    return deployment(env=tuple(EnvVar(name=name, value="1") for name in names))


def amounts(cpu: str) -> Deployment:
    """Pods with a limit."""
    return deployment(resources=ResourceRequirements(limits=ResourceAmounts(cpu=cpu)))


def test_the_order_of_what_is_wanted_counts() -> None:
    """A variable can name only those before it; others may stand between, and none may be there twice."""
    assert is_applied(env("A", "B"), env("X", "A", "Y", "B"))
    assert not is_applied(env("A", "B"), env("B", "A"))
    assert not is_applied(env("A", "B"), env("A", "B", "A"))


def test_ports_are_distinguished_by_their_protocol_too() -> None:
    """DNS has the same port twice; a protocol that is left out is TCP."""
    udp, tcp = (ContainerPort(container_port=53, protocol=name) for name in ("UDP", "TCP"))
    unsaid = ContainerPort(container_port=53, protocol="")
    assert is_applied(deployment(ports=(udp,)), deployment(ports=(tcp, udp)))
    assert not is_applied(deployment(ports=(udp,)), deployment(ports=(tcp,)))
    assert not is_applied(deployment(ports=(tcp,)), deployment(ports=(udp,)))
    assert tables._key(unsaid, ("containerPort", "protocol")) == (53, "TCP")


def test_amounts_are_compared_and_not_their_spelling() -> None:
    """Where the server spells them in its own way; in a custom kind a text is a text."""
    assert is_applied(amounts("0.5"), amounts("500m"))
    assert not is_applied(amounts("0.5"), amounts("501m"))
    assert not is_applied(rollout(amounts("0.5")), rollout(amounts("500m")))


def rollout(pods: Deployment, **fields: Any) -> Rollout:
    """The same fields in a custom kind."""
    containers = pods.spec.template.spec.containers
    spec = RolloutSpec(containers=containers, resources=containers[0].resources, **fields)
    return Rollout(metadata=META, spec=spec)


def test_lists_of_custom_kinds_are_taken_for_replaced() -> None:
    """With any field names: their schema decides whether they are merged."""
    one, two = ServicePort(name="a", port=1), ServicePort(name="b", port=2)
    assert is_applied(rollout(env("A"), ports=(one, two)), rollout(env("A"), ports=(one, two)))
    assert not is_applied(rollout(env("A"), ports=(one,)), rollout(env("A"), ports=(one, two)))
    assert not is_applied(rollout(env("A")), rollout(env("A", "B")))


@pytest.mark.parametrize(
    "group", ["samplecontroller.k8s.io", "gateway.networking.k8s.io", "example.com", "apps.example.com"]
)
def test_groups_of_custom_kinds_are_not_taken_for_built_in_ones(group: str) -> None:
    """Some end as built-in groups do, and the names of their lists prove nothing."""
    assert not is_built_in(group)
    assert all(is_built_in(entry.group) for entry in resource_entries())


def test_an_empty_struct_asks_for_itself_only() -> None:
    """What the server fills in is no difference; that it is not there is one."""
    said, filled = (rollout(env("A"), strategy=Strategy(type=name)) for name in ("", "RollingUpdate"))
    assert is_applied(said, filled)
    assert not is_applied(said, rollout(env("A")))


def autoscaler(*names: str) -> HorizontalPodAutoscaler:
    """Metrics of one type."""
    target = MetricTarget(type="Utilization", average_utilization=50)
    sources = [ResourceMetricSource(name=name, target=target) for name in names]
    spec = HorizontalPodAutoscalerSpec(
        scale_target_ref=CrossVersionObjectReference(api_version="apps/v1", kind="Deployment", name="s"),
        max_replicas=3,
        metrics=tuple(MetricSpec(type="Resource", resource=source) for source in sources),
    )
    return HorizontalPodAutoscaler(metadata=META, spec=spec)


@pytest.mark.parametrize(
    "desired",
    [
        RoleBinding(
            metadata=META,
            subjects=tuple(Subject(kind="ServiceAccount", name="default", namespace=each) for each in "ab"),
        ),
        autoscaler("cpu", "memory"),
        deployment(
            resources=ResourceRequirements(
                limits=ResourceAmounts(cpu="0.5", memory="1024Mi"), requests=ResourceAmounts(cpu="0.25")
            )
        ),
        deployment(env=(EnvVar(name="B", value=""), EnvVar(name="A", value="$(B)"))),
        deployment(ports=tuple(ContainerPort(container_port=53, protocol=each) for each in ("UDP", "TCP"))),
        wanted(a="1"),
    ],
    ids=["subjects", "metrics", "amounts", "env", "ports", "service"],
)
def test_what_has_just_been_applied_is_applied(cluster: ManagedSandbox, desired: Kind) -> None:
    """Whatever the server makes of it, and read again, too: else each reconcile would be a request."""
    client = cluster.client.resource(type(desired))
    assert is_applied(desired, apply(client, desired, field_manager="us"))
    assert is_applied(desired, client.get("s", namespace="default"))


def test_the_tables_agree_with_the_schemas() -> None:
    """Of every built-in kind: which lists are merged, by which keys, and which maps are replaced."""
    lists: dict[tuple[str, ...], set[tuple[str, ...] | None]] = {}
    replaced: dict[tuple[str, str], set[bool]] = {}
    for way, schema in all_fields():
        if items_of(schema) is not None:
            lists.setdefault(way, set()).add(None if list_type(schema) == "atomic" else map_keys(schema))
        elif value_of(schema) is not None:
            replaced.setdefault(way, set()).add(map_type(schema) == "atomic")
    merged = {way: keys for way, (keys, *more) in lists.items() if keys is not None and not more}
    assert {way: keys for way, keys in merged.items() if way[1] not in SELDOM_APPLIED} == tables._MERGED
    assert {way for way, found in replaced.items() if True in found} == tables._REPLACED_MAPS


def all_fields() -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """The last two fields of the way to each field of each built-in kind, without status, and its schema."""
    waiting: list[tuple[str, Mapping[str, Any]]] = [
        ("built-in", named_schema(entry.schema) or {}) for entry in resource_entries()
    ]
    seen: set[tuple[str, int]] = set()
    while waiting:
        parent, schema = waiting.pop()
        fields: Mapping[str, Any] = properties(schema)
        if (parent, id(fields)) in seen:
            continue
        seen.add((parent, id(fields)))
        for name, child in fields.items():
            if (parent, name) != ("built-in", "status"):
                yield (parent, name), child
                waiting.append((name, items_of(child) or value_of(child) or child))
