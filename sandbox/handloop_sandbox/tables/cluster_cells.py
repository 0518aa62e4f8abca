"""
The rows of kinds that do not run pods: configuration, networking, access, nodes, quotas and Events.

Follows: kubernetes pkg/printers/internalversion/printers.go, pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from typing import Any

from handloop_sandbox.tables.cell import (
    NONE,
    UNKNOWN,
    UNSET,
    Object,
    age_of,
    labels_text,
    name_of,
    shortened,
    unique,
)
from handloop_sandbox.wire import human
from handloop_sandbox.wire.field_rules import part

_ROLE_LABEL = "node-role.kubernetes.io/"


def config_map_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, data, age."""
    return [name_of(obj), len(part(obj, "data")) + len(part(obj, "binaryData")), age_of(obj, now)]


def secret_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, type, data, age."""
    return [name_of(obj), obj.get("type", ""), len(part(obj, "data")), age_of(obj, now)]


def named_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, age."""
    return [name_of(obj), age_of(obj, now)]


def created_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells of a kind that has no columns of its own: name, creation time."""
    del now
    return [name_of(obj), part(obj, "metadata").get("creationTimestamp")]


def role_binding_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, role, age, users, groups, service accounts."""
    role, subjects = part(obj, "roleRef"), obj.get("subjects") or ()

    def named(kind: str) -> list[Object]:
        return [subject for subject in subjects if subject.get("kind") == kind]

    accounts = [f"{subject.get('namespace', '')}/{subject['name']}" for subject in named("ServiceAccount")]
    return [
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age_of(obj, now),
        ", ".join(subject["name"] for subject in named("User")),
        ", ".join(subject["name"] for subject in named("Group")),
        ", ".join(accounts),
    ]


def priority_class_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, value, whether it is the default, age, preemption policy."""
    is_default = bool(obj.get("globalDefault"))
    return [
        name_of(obj),
        obj.get("value") or 0,
        is_default,
        age_of(obj, now),
        obj.get("preemptionPolicy", ""),
    ]


def namespace_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, status, age."""
    return [name_of(obj), part(obj, "status").get("phase", ""), age_of(obj, now)]


def lease_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, holder, age."""
    return [name_of(obj), part(obj, "spec").get("holderIdentity") or "", age_of(obj, now)]


def signing_request_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, age, signer, requestor, requested duration, condition."""
    spec, status = part(obj, "spec"), part(obj, "status")
    kinds = {condition.get("type") for condition in status.get("conditions") or ()}
    words = ["Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"]
    words += ["Failed"] * ("Failed" in kinds) + ["Issued"] * bool(status.get("certificate"))
    seconds = spec.get("expirationSeconds")
    duration = NONE if seconds is None else human.human_duration(seconds)
    return [
        name_of(obj),
        age_of(obj, now),
        spec.get("signerName", ""),
        spec.get("username", ""),
        duration,
        ",".join(words),
    ]


def event_cells(obj: Object, now: float) -> list[Any]:
    """
    Return the cells of an Event.

    These are last seen, type, reason, object, subobject, source, message, first seen, count and name.
    """
    about = part(obj, "involvedObject") or part(obj, "regarding")
    source = part(obj, "source") or part(obj, "deprecatedSource")
    series = obj.get("series")
    first = human.age(_either(obj, "firstTimestamp", "deprecatedFirstTimestamp") or obj.get("eventTime"), now)
    last_at = _either(obj, "lastTimestamp", "deprecatedLastTimestamp")
    last, count = human.age(last_at, now) if last_at else first, _either(obj, "count", "deprecatedCount") or 1
    if series is not None:
        last, count = human.age(series.get("lastObservedTime"), now), series.get("count", 0)
    kind = about.get("kind", "").lower()
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _event_source(obj, source),
        str(_either(obj, "message", "note") or "").strip(),
        first,
        int(count),
        name_of(obj),
    ]


def _either(obj: Object, name: str, other: str) -> Any:
    return obj.get(name) or obj.get(other)


def _event_source(obj: Object, source: Object) -> str:
    component = source.get("component") or _either(obj, "reportingComponent", "reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


def service_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, type, cluster IP, external IP, ports, age, selector."""
    spec = part(obj, "spec")
    address = (spec.get("clusterIPs") or [NONE])[0]
    ports = ",".join(_service_port(port) for port in spec.get("ports") or ()) or NONE
    selector = labels_text(part(spec, "selector"))
    return [
        name_of(obj),
        spec.get("type", ""),
        address,
        _external_ip(obj, spec),
        ports,
        age_of(obj, now),
        selector,
    ]


def _service_port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node}/{port.get('protocol', '')}"


def _external_ip(obj: Object, spec: Object) -> str:
    external = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            return ",".join([*_balancer_addresses(obj), *external]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return UNKNOWN


def _balancer_addresses(obj: Object) -> list[str]:
    entries = part(obj, "status", "loadBalancer").get("ingress") or ()
    return unique(entry.get("ip") or entry.get("hostname") or "" for entry in entries)


def endpoint_slice_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, address type, ports, endpoints, age."""
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    addresses = [address for entry in obj.get("endpoints") or () for address in entry.get("addresses") or ()]
    return [
        name_of(obj),
        obj.get("addressType", ""),
        shortened(ports, len(ports), empty=UNSET),
        shortened(addresses, len(addresses), empty=UNSET),
        age_of(obj, now),
    ]


def _slice_port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return str(port["name"]) if port.get("name") is not None else "*"


def node_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, status, roles, age, version, addresses, OS image, kernel, runtime."""
    info = part(obj, "status", "nodeInfo")
    architecture = f" ({info['architecture']})" if info.get("architecture") else ""
    return [
        name_of(obj),
        _node_status(obj),
        ",".join(_node_roles(obj)) or NONE,
        age_of(obj, now),
        info.get("kubeletVersion", ""),
        _node_address(obj, "InternalIP"),
        _node_address(obj, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        (info.get("kernelVersion") or UNKNOWN) + architecture,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(obj: Object) -> str:
    found = [entry for entry in part(obj, "status").get("conditions") or () if entry.get("type") == "Ready"]
    ready = {True: "Ready", False: "NotReady"}
    status = ready[found[-1].get("status") == "True"] if found else "Unknown"
    return f"{status},SchedulingDisabled" if part(obj, "spec").get("unschedulable") else status


def _node_roles(obj: Object) -> list[str]:
    labels = part(obj, "metadata", "labels")
    named = [key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL)]
    return unique([*named, labels.get("kubernetes.io/role", "")])


def _node_address(obj: Object, kind: str) -> str:
    addresses = part(obj, "status").get("addresses") or ()
    return next((entry.get("address", "") for entry in addresses if entry.get("type") == kind), NONE)


def quota_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, request, limit, age."""
    hard, used = part(obj, "status", "hard"), part(obj, "status", "used")
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    requests = ", ".join(text for name, text in texts.items() if not name.startswith("limits."))
    limits = ", ".join(text for name, text in texts.items() if name.startswith("limits."))
    return [name_of(obj), requests, limits, age_of(obj, now)]
