"""
Validation rules for containers.

Follows: kubernetes pkg/apis/core/validation/validation.go (validateContainerCommon and the functions it
calls).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.rules.environment_rules import environment, environment_from
from handloop_sandbox.rules.quota_rules import resource_name
from handloop_sandbox.rules.security_context_rules import container_context
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import (
    NEGATIVE,
    Object,
    all_invalid,
    entries,
    named_by,
    nonnegative,
    not_found_value,
    one_of,
    part,
    port_name,
    port_number,
    port_number_or_name,
)
from handloop_sandbox.wire.status import Cause

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_RESIZED: Final = {
    "resourceName": ("cpu", "memory"),
    "restartPolicy": ("NotRequired", "RestartContainer"),
}
_STANDARD_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_CONTAINER_POLICIES: Final = ("Always", "Never", "OnFailure")


def containers(path: str, found: list[Object], volumes: Collection[str]) -> list[Cause]:
    """Return the validation errors for a pod's containers. At least one is required, and names are unique."""
    if not found:
        return [required(path)]
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, container in enumerate(found):
        at = f"{path}[{index}]"
        causes += common(at, container, volumes)
        causes += _unique(at, container, seen)
        causes += probes(at, container)
        causes += lifecycle(at, container)
        policy = container.get("restartPolicy")
        if policy is not None and policy not in _CONTAINER_POLICIES:
            causes.append(not_supported(f"{at}.restartPolicy", policy, _CONTAINER_POLICIES))
    return causes + _host_port_conflicts(path, found)


def init_containers(path: str, found: list[Object], volumes: Collection[str], taken: set[str]) -> list[Cause]:
    """Return the validation errors for init containers. Only restartPolicy Always allows probes and hooks."""
    causes: list[Cause] = []
    for index, container in enumerate(found):
        at = f"{path}[{index}]"
        causes += common(at, container, volumes)
        causes += _unique(at, container, taken)
        policy = container.get("restartPolicy")
        if policy is not None and policy not in _CONTAINER_POLICIES:
            causes.append(not_supported(f"{at}.restartPolicy", policy, _CONTAINER_POLICIES))
        if policy == "Always":
            causes += probes(at, container) + lifecycle(at, container)
            continue
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                causes.append(
                    forbidden_field(
                        f"{at}.{name}", "may not be set for init containers without restartPolicy=Always"
                    )
                )
    return causes


def _unique(at: str, container: Object, seen: set[str]) -> list[Cause]:
    name = container.get("name", "")
    if name in seen:
        return [duplicate(f"{at}.name", name)]
    seen.add(name)
    return []


def common(at: str, container: Object, volumes: Collection[str]) -> list[Cause]:
    """Return the validation errors for a container of any type."""
    causes = named_by(f"{at}.name", container.get("name"), names.dns_1123_label)
    image = container.get("image", "")
    if not image:
        causes.append(required(f"{at}.image"))
    elif image != image.strip():
        causes.append(invalid_value(f"{at}.image", image, "must not have leading or trailing whitespace"))
    policies = ("File", "FallbackToLogsOnError")
    causes += one_of(f"{at}.terminationMessagePolicy", container.get("terminationMessagePolicy"), policies)
    causes += _ports(f"{at}.ports", entries(container, "ports"))
    causes += environment(f"{at}.env", entries(container, "env"))
    causes += environment_from(f"{at}.envFrom", entries(container, "envFrom"))
    causes += _mounts(f"{at}.volumeMounts", entries(container, "volumeMounts"), volumes)
    causes += [
        not_found_value(f"{at}.volumeDevices[{index}].name", device.get("name", ""))
        for index, device in enumerate(entries(container, "volumeDevices"))
        if device.get("name") and device["name"] not in volumes
    ]
    for policy in entries(container, "resizePolicy"):
        for name, supported in _RESIZED.items():
            causes += one_of(f"{at}.resizePolicy", policy.get(name), supported)
    pull = ("Always", "IfNotPresent", "Never")
    causes += one_of(f"{at}.imagePullPolicy", container.get("imagePullPolicy"), pull)
    causes += resources(f"{at}.resources", part(container, "resources"))
    return causes + container_context(f"{at}.securityContext", part(container, "securityContext"))


def _ports(path: str, ports: Any) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name", "")
        if name:
            wrong = all_invalid(f"{at}.name", name, port_name(name))
            causes += wrong or ([duplicate(f"{at}.name", name)] if name in seen else [])
            seen.add(name)
        if not port.get("containerPort"):
            causes.append(required(f"{at}.containerPort"))
        else:
            causes += port_number(f"{at}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            causes += port_number(f"{at}.hostPort", port["hostPort"])
        causes += one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
    return causes


def _host_port_conflicts(path: str, found: list[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, container in enumerate(found):
        for number, port in enumerate(entries(container, "ports")):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                causes.append(duplicate(f"{path}[{index}].ports[{number}].hostPort", key))
            seen.add(key)
    return causes


def _mounts(path: str, found: Any, volumes: Collection[str]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, mount in enumerate(found):
        at, name, where = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            causes.append(required(f"{at}.name"))
        if name not in volumes:
            causes.append(not_found_value(f"{at}.name", name))
        if not where:
            causes.append(required(f"{at}.mountPath"))
        if where in seen:
            causes.append(invalid_value(f"{at}.mountPath", where, "must be unique"))
        seen.add(where)
        if ".." in mount.get("subPath", "").split("/"):
            causes.append(invalid_value(f"{path}.subPath", mount["subPath"], "must not contain '..'"))
    return causes


def resources(path: str, found: Object) -> list[Cause]:
    """Return the validation errors for resource requests and limits."""
    causes: list[Cause] = []
    limits, requests = part(found, "limits"), part(found, "requests")
    for name, value in limits.items():
        causes += _resource(f"{path}.limits", name, value)
    for name, value in requests.items():
        causes += _resource(f"{path}.requests", name, value)
        if name in limits and parse_quantity(str(value)) > parse_quantity(str(limits[name])):
            text = f"must be less than or equal to {name} limit of {limits[name]}"
            causes.append(invalid_value(f"{path}.requests", str(value), text))
    return causes


def _resource(path: str, name: str, value: Any) -> list[Cause]:
    at = f"{path}[{name}]"
    causes = resource_name(at, name)
    if "/" not in name and name not in _STANDARD_RESOURCES and not name.startswith("hugepages-"):
        causes.append(invalid_value(at, name, "must be a standard resource for containers"))
    number = parse_quantity(str(value))
    if number < 0:
        causes.append(invalid_value(f"{path}[{name}]", str(value), NEGATIVE))
    elif "/" in name and number.denominator != 1:
        causes.append(invalid_value(f"{path}[{name}]", str(value), "must be an integer"))
    return causes


def probes(at: str, container: Object) -> list[Cause]:
    """Return the validation errors for a container's liveness, readiness and startup probes."""
    causes: list[Cause] = []
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            causes += _probe(f"{at}.{name}", probe, readiness=name == "readinessProbe")
    return causes


def _probe(path: str, probe: Object, *, readiness: bool) -> list[Cause]:
    causes = _handler(path, probe) + nonnegative(path, probe, *_PROBE_NUMBERS)
    grace, success = probe.get("terminationGracePeriodSeconds"), probe.get("successThreshold")
    if grace is not None and grace <= 0:
        causes.append(invalid_value(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    if readiness and grace is not None:
        text = "must not be set for readinessProbes"
        causes.append(invalid_value(f"{path}.terminationGracePeriodSeconds", grace, text))
    if not readiness and success != 1:
        causes.append(invalid_value(f"{path}.successThreshold", success or 0, "must be 1"))
    return causes


def lifecycle(at: str, container: Object) -> list[Cause]:
    """Return the validation errors for a container's postStart and preStop hooks."""
    hooks = part(container, "lifecycle")
    return [
        cause
        for name in ("postStart", "preStop")
        if hooks.get(name) is not None
        for cause in _handler(f"{at}.lifecycle.{name}", hooks[name])
    ]


def _handler(path: str, holder: Object) -> list[Cause]:
    given = [name for name in _HANDLERS if holder.get(name) is not None]
    if not given:
        return [required(path, "must specify a handler type")]
    causes = _action(f"{path}.{given[0]}", given[0], holder[given[0]])
    return causes + [
        forbidden_field(f"{path}.{name}", "may not specify more than 1 handler type") for name in given[1:]
    ]


def _action(path: str, kind: str, action: Object) -> list[Cause]:
    match kind:
        case "exec":
            return [] if action.get("command") else [required(f"{path}.command")]
        case "httpGet":
            causes = port_number_or_name(f"{path}.port", action.get("port", 0))
            return causes + one_of(f"{path}.scheme", action.get("scheme"), ("HTTP", "HTTPS"))
        case "tcpSocket":
            return port_number_or_name(f"{path}.port", action.get("port", 0))
        case "grpc":
            return port_number_or_name(f"{path}.port", action.get("port", 0))
        case _:
            return []
