"""
What has to change in a child: strategic merge patches of the fields that a MyApp owns, {} when nothing does.

Owned are: our labels; of a Deployment replicas (unless an autoscaler has them) and of the container `app` the
image, the port named `http`, all of env, cpu and memory; of a Service type, selector and the port named
`http`; of an autoscaler target, bounds and metrics. The selector of a Deployment never changes. All else is
left to others: what the server defaults or allocates, further containers, ports and labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from apis.apps_v1 import Deployment
from apis.autoscaling_v2 import HorizontalPodAutoscaler
from apis.core_v1 import (
    Container,
    ContainerPort,
    EnvVar,
    PodTemplateSpec,
    ResourceAmounts,
    ResourceRequirements,
    Service,
    ServicePort,
)
from apis.meta import Kind
from apis.quantity import same_quantity

Changes = dict[str, Any]

_WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")


def guarded(child: Kind, changes: Changes) -> Changes:
    """The patch that holds only for the very state that was seen: else the server answers Conflict."""
    metadata = child.metadata
    seen = {"resourceVersion": metadata.resource_version, "uid": metadata.uid}
    return changes | {"metadata": changes.get("metadata", {}) | seen}


def deployment_changes(live: Deployment, wanted: Deployment, *, keep_replicas: bool) -> Changes:
    """Args: keep_replicas when an autoscaler decides on them."""
    template = _template_changes(live.spec.template, wanted.spec.template)
    spec: Changes = {"template": template} if template else {}
    if not keep_replicas and live.spec.replicas != wanted.spec.replicas:
        spec["replicas"] = wanted.spec.replicas
    return _with_labels(live, wanted, spec)


def service_changes(live: Service, wanted: Service) -> Changes:
    """Node ports are kept while the type has any, and cleared when it has none."""
    spec: Changes = {}
    if live.spec.type != wanted.spec.type:
        spec["type"] = wanted.spec.type
    selector = _map_changes(live.spec.selector, wanted.spec.selector)
    selector |= {key: None for key in live.spec.selector if key not in wanted.spec.selector}
    if selector:
        spec["selector"] = selector
    ports = _service_port_changes(live, wanted)
    if ports:
        spec["ports"] = ports
    return _with_labels(live, wanted, spec)


def autoscaler_changes(live: HorizontalPodAutoscaler, wanted: HorizontalPodAutoscaler) -> Changes:
    """The list of metrics is replaced as a whole: it is atomic on the server."""
    before, after = msgspec.structs.asdict(live.spec), msgspec.structs.asdict(wanted.spec)
    changed = {name for name in after if before[name] != after[name]}
    names = {field.name: field.encode_name for field in msgspec.structs.fields(wanted.spec)}
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
    ports = _container_port_changes(live.ports, wanted.ports[0])
    if ports:
        changes["ports"] = ports
    if live.env != wanted.env:
        changes["env"] = _replaced(wanted.env)
    resources = _resource_changes(live.resources, wanted.resources)
    if resources:
        changes["resources"] = resources
    return changes


def _replaced(env: tuple[EnvVar, ...]) -> list[Changes]:
    """A merge would keep variables that are no longer wanted, and their order, which counts for $(NAME)."""
    return [{"$patch": "replace"}, *msgspec.to_builtins(env)]


def _container_port_changes(live: tuple[ContainerPort, ...], wanted: ContainerPort) -> list[Changes]:
    found = next((port for port in live if port.name == wanted.name), None)
    if found == wanted:
        return []
    entry = {"name": wanted.name, "containerPort": wanted.container_port, "protocol": wanted.protocol}
    if found is None or found.container_port == wanted.container_port:
        return [entry]
    return [{"containerPort": found.container_port, "$patch": "delete"}, entry]


def _resource_changes(live: ResourceRequirements, wanted: ResourceRequirements) -> Changes:
    changes = {
        "limits": _amount_changes(live.limits, wanted.limits),
        "requests": _amount_changes(live.requests, wanted.requests),
    }
    return {name: amounts for name, amounts in changes.items() if amounts}


def _amount_changes(live: ResourceAmounts, wanted: ResourceAmounts) -> Changes:
    """The server spells amounts in its own way: they are compared, not their texts."""
    amounts = (("cpu", live.cpu, wanted.cpu), ("memory", live.memory, wanted.memory))
    return {name: after or None for name, before, after in amounts if not same_quantity(before, after)}


def _service_port_changes(live: Service, wanted: Service) -> list[Changes]:
    (port,) = wanted.spec.ports
    keeps = wanted.spec.type in _WITH_NODE_PORTS
    found = _service_port(live.spec.ports, port)
    stale = [] if keeps else [each for each in live.spec.ports if each.node_port]
    changes: list[Changes] = [{"port": each.port, "nodePort": None} for each in stale if each is not found]
    if found is not None and found not in stale and msgspec.structs.replace(found, node_port=0) == port:
        return changes
    entry: Changes = {
        "name": port.name,
        "port": port.port,
        "targetPort": port.target_port,
        "protocol": port.protocol,
    }
    if found is not None and found.port != port.port:
        changes.append({"port": found.port, "$patch": "delete"})
    if found is not None and found.node_port:
        entry["nodePort"] = found.node_port if keeps else None
    return [*changes, entry]


def _service_port(ports: tuple[ServicePort, ...], wanted: ServicePort) -> ServicePort | None:
    """The port of that name, or else of that number."""
    named = (port for port in ports if port.name == wanted.name)
    return next(named, None) or next((port for port in ports if port.port == wanted.port), None)
