"""
The changes that a child needs: strategic merge patches of the fields that a MyApp owns, {} for none.

A MyApp owns its labels; of a Deployment replicas (unless an autoscaler decides on them) and of the container
`app` the image, the port named `http`, all of env, cpu and memory; of a Service type, selector and the port
named `http`; of an autoscaler target, bounds and metrics. The selector of a Deployment never changes. All
other fields stay as they are: the server's defaults and allocations, further containers, ports and labels.

A port is one number of one protocol, but a merge compares numbers alone and would take a foreign UDP port for
ours. So lists of ports are replaced as a whole, with foreign ports as they were read. A foreign port of our
number and protocol gives way to ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import (
    Container,
    ContainerPort,
    PodTemplateSpec,
    ResourceAmounts,
    ResourceRequirements,
    Service,
    ServicePort,
)
from handloop.apis.declaration import fields_of
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.quantity import same_quantity

Changes = dict[str, Any]
Key = tuple[int, str]
Port = TypeVar("Port", ContainerPort, ServicePort)

_WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")


def guarded(child: Kind, changes: Changes) -> Changes:
    """The patch, valid only for the version that was read: else the server answers Conflict."""
    metadata = child.metadata
    seen = {"resourceVersion": metadata.resource_version, "uid": metadata.uid}
    return changes | {"metadata": changes.get("metadata", {}) | seen}


def deployment_changes(live: Deployment, wanted: Deployment, *, keep_replicas: bool) -> Changes:
    """Args: keep_replicas = an autoscaler decides on them."""
    template = _template_changes(live.spec.template, wanted.spec.template)
    spec: Changes = {"template": template} if template else {}
    if not keep_replicas and live.spec.replicas != wanted.spec.replicas:
        spec["replicas"] = wanted.spec.replicas
    return _with_labels(live, wanted, spec)


def service_changes(live: Service, wanted: Service) -> Changes:
    """Node ports stay while the type has any, and go when it has none."""
    spec: Changes = {}
    if live.spec.type != wanted.spec.type:
        spec["type"] = wanted.spec.type
    selector = _map_changes(live.spec.selector, wanted.spec.selector)
    selector |= {key: None for key in live.spec.selector if key not in wanted.spec.selector}
    if selector:
        spec["selector"] = selector
    ports = _service_ports(live.spec.ports, wanted)
    if ports != live.spec.ports:
        spec["ports"] = _replaced(live.spec.ports, ports)
    return _with_labels(live, wanted, spec)


def autoscaler_changes(live: HorizontalPodAutoscaler, wanted: HorizontalPodAutoscaler) -> Changes:
    """The list of metrics is replaced as a whole: it is atomic on the server."""
    before, after = msgspec.structs.asdict(live.spec), msgspec.structs.asdict(wanted.spec)
    changed = {name for name in after if before[name] != after[name]}
    names = {field.name: field.encode_name for field in fields_of(type(wanted.spec)).values()}
    spec = {names[name]: msgspec.to_builtins(after[name]) for name in names if name in changed}
    return _with_labels(live, wanted, spec)


def _with_labels(live: Kind, wanted: Kind, spec: Changes) -> Changes:
    changes: Changes = {"spec": spec} if spec else {}
    labels = _map_changes(live.metadata.labels, wanted.metadata.labels)
    if labels:
        changes["metadata"] = {"labels": labels}
    return changes


def _map_changes(live: Mapping[str, str], wanted: Mapping[str, str]) -> Changes:
    return {key: value for key, value in wanted.items() if live.get(key) != value}


def _template_changes(live: PodTemplateSpec, wanted: PodTemplateSpec) -> Changes:
    changes: Changes = {}
    labels = _map_changes(live.metadata.labels, wanted.metadata.labels)
    if labels:
        changes["metadata"] = {"labels": labels}
    (container,) = wanted.spec.containers
    found = next((each for each in live.spec.containers if each.name == container.name), None)
    difference = _container_changes(found or Container(name=container.name), container)
    if difference:
        changes["spec"] = {"containers": [{"name": container.name} | difference]}
    return changes


def _container_changes(live: Container, wanted: Container) -> Changes:
    changes: Changes = {}
    if live.image != wanted.image:
        changes["image"] = wanted.image
    (port,) = wanted.ports
    owned = {"name": port.name, "container_port": port.container_port, "protocol": port.protocol}
    ports = _with_port(live.ports, port, _container_key, owned)
    if ports != live.ports:
        changes["ports"] = _replaced(live.ports, ports)
    if live.env != wanted.env:
        changes["env"] = _replaced(live.env, wanted.env)
    resources = _resource_changes(live.resources, wanted.resources)
    if resources:
        changes["resources"] = resources
    return changes


def _replaced(live: tuple[APIStruct, ...], wanted: tuple[APIStruct, ...]) -> list[Changes]:
    """
    A list in place of another: a merge would keep entries that are no longer wanted, and the old order.

    Without a list to replace, the server would take the directive itself for an element.
    """
    return [*([{"$patch": "replace"}] if live else ()), *msgspec.to_builtins(wanted)]


def _container_key(port: ContainerPort) -> Key:
    return port.container_port, port.protocol


def _with_port(
    live: tuple[Port, ...], wanted: Port, key: Callable[[Port], Key], owned: Mapping[str, Any]
) -> tuple[Port, ...]:
    """
    The list with our port in place of the one with its name, or else with its number and protocol, or last.

    Args: owned = the fields that a MyApp owns. Returns: the very same list when nothing differs.
    """
    named = (port for port in live if port.name == wanted.name)
    found = next(named, None) or next((port for port in live if key(port) == key(wanted)), None)
    ours = replace(found or wanted, **owned)
    if ours == found:
        return live
    others = [port for port in live if port is found or key(port) != key(ours)]
    return tuple(ours if port is found else port for port in others) + ((ours,) if found is None else ())


def _resource_changes(live: ResourceRequirements, wanted: ResourceRequirements) -> Changes:
    changes = {
        "limits": _amount_changes(live.limits, wanted.limits),
        "requests": _amount_changes(live.requests, wanted.requests),
    }
    return {name: amounts for name, amounts in changes.items() if amounts}


def _amount_changes(live: ResourceAmounts, wanted: ResourceAmounts) -> Changes:
    """The server respells amounts, so amounts are compared, not their texts."""
    amounts = (("cpu", live.cpu, wanted.cpu), ("memory", live.memory, wanted.memory))
    return {name: after or None for name, before, after in amounts if not same_quantity(before, after)}


def _service_ports(live: tuple[ServicePort, ...], wanted: Service) -> tuple[ServicePort, ...]:
    (port,) = wanted.spec.ports
    if wanted.spec.type not in _WITH_NODE_PORTS:
        live = tuple(replace(each, node_port=0) for each in live)
    owned = {"name": port.name, "port": port.port, "target_port": port.target_port, "protocol": port.protocol}
    return _with_port(live, port, _service_key, owned)


def _service_key(port: ServicePort) -> Key:
    return port.port, port.protocol
