"""
Validation rules for Services and their updates, and the warnings about valid Services.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateService,
ValidateServiceClusterIPsRelatedFields), pkg/api/service/warnings.go. Differs: there are no warnings about the
spelling of addresses.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any, Final

from handloop_sandbox.rules.container_rules import PROTOCOLS
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import (
    Object,
    all_invalid,
    entries,
    labels,
    named_by,
    one_of,
    part,
    port_number,
    port_number_or_name,
)
from handloop_sandbox.wire.status import Cause

_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_FAMILIES: Final = ("IPv4", "IPv6")
_FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_FIELD: Final = "spec.clusterIPs"
_MOST: Final = 2
_ONE_EACH: Final = "may specify no more than one IP for each IP family"
_ONLY_NONE: Final = "'None' must be the first and only value"


def address_causes(spec: Object, before: Object | None = None) -> list[Cause]:
    """
    Return the errors for cluster IPs, IP families and the family policy.

    Unchanged addresses are accepted.
    """
    addresses = list(entries(spec, "clusterIPs"))
    causes = _first(spec.get("clusterIP", ""), addresses) + _families(spec)
    wrong = _each(addresses, entries(before or {}, "clusterIPs"))
    if len(addresses) > _MOST:
        wrong.append(invalid_value(_FIELD, addresses, "may only hold up to 2 values"))
    return causes + (wrong or _together(addresses, list(entries(spec, "ipFamilies"))))


def ip_address(path: str, address: str, *, text: str = _ADDRESS) -> list[Cause]:
    """Return the validation error for a string that is not an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return [invalid_value(path, address, text)]
    return []


def _first(address: str, addresses: list[str]) -> list[Cause]:
    if not address and addresses:
        return [invalid_value(_FIELD, addresses, "must be empty when `clusterIP` is not specified")]
    if address and addresses and addresses[0] != address:
        return [invalid_value(_FIELD, addresses, "first value must match `clusterIP`")]
    return []


def _families(spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    families, policy = entries(spec, "ipFamilies"), spec.get("ipFamilyPolicy")
    for index, family in enumerate(families):
        path = f"spec.ipFamilies[{index}]"
        causes += [] if family in _FAMILIES else [not_supported(path, family, _FAMILIES)]
        causes += [duplicate(path, family)] if family in families[:index] else []
    if policy is not None and policy not in _FAMILY_POLICIES:
        causes.append(not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    return causes


def _each(addresses: list[str], known: Sequence[str]) -> list[Cause]:
    causes: list[Cause] = []
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            causes += [invalid_value(_FIELD, addresses, _ONLY_NONE)] if len(addresses) > 1 else []
        elif address not in known:
            causes += ip_address(f"{_FIELD}[{index}]", address)
    return causes


def _together(addresses: list[str], families: list[Any]) -> list[Cause]:
    if addresses[:1] == ["None"]:
        return []
    causes = []
    if len(addresses) != len({":" in address for address in addresses}):
        causes.append(invalid_value(_FIELD, addresses, _ONE_EACH))
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _FAMILIES and (family == "IPv6") != (":" in address):
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            causes.append(invalid_value(f"{_FIELD}[{index}]", address, text))
    return causes


_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_FOR_BALANCERS: Final = "may only be used when `type` is 'LoadBalancer'"
_FOR_EXTERNAL: Final = "may only be set for externally-accessible services"
_FOR_HEALTH: Final = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
_WHERE: Final = ("Cluster", "Local")
_LONGEST_AFFINITY: Final = 86400
_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def service(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """
    Return the validation errors for a Service.

    If the addresses are invalid, only the errors for the addresses are returned.
    """
    if subresource == "status":
        return []
    spec, before = part(new, "spec"), part(old, "spec")
    kind = spec.get("type", "")
    if kind != "ExternalName" and (causes := address_causes(_synced(spec, before), before)):
        return causes
    causes = [] if old is None else _kept_address(spec, before) + _kept_class(spec, before)
    ports = entries(spec, "ports")
    if not ports and spec.get("clusterIP", "") != "None" and kind != "ExternalName":
        causes.append(required("spec.ports"))
    causes += _type(spec, kind)
    causes += _service_ports(ports)
    causes += labels("spec.selector", part(spec, "selector"))
    causes += one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    causes += _affinity(spec)
    for index, external in enumerate(entries(spec, "externalIPs")):
        causes += ip_address(f"spec.externalIPs[{index}]", external)
    causes += one_of("spec.type", kind, _SERVICE_TYPES)
    causes += _node_ports(kind, ports) + _duplicate_ports(ports)
    return causes + _load_balancer(spec, kind) + _policies(spec, kind)


def _synced(spec: Object, before: Object) -> Object:
    """Return the spec with its clusterIPs adjusted if only clusterIP has changed."""
    address, found = spec.get("clusterIP", ""), list(entries(spec, "clusterIPs"))
    if address != before.get("clusterIP", "") and found == list(entries(before, "clusterIPs")):
        found = [address] if address else []
    return {**spec, "clusterIPs": found}


def _type(spec: Object, kind: str) -> list[Cause]:
    """Return the validation errors for fields that this type of Service must not set."""
    if kind in ("LoadBalancer", "NodePort") and spec.get("clusterIP") == "None":
        return [invalid_value("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")]
    if kind != "ExternalName":
        return []
    text = "may not be set for ExternalName services"
    named = (("clusterIPs", "clusterIP"), ("ipFamilies", "ipFamilies"), ("ipFamilyPolicy", "ipFamilyPolicy"))
    causes = [forbidden_field(f"spec.{shown}", text) for shown, name in named if spec.get(name)]
    name = spec.get("externalName", "").rstrip(".")
    return causes + named_by("spec.externalName", name, names.dns_1123_subdomain)


def _node_ports(kind: str, ports: Any) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        number = port.get("nodePort", 0)
        if not number:
            continue
        path = f"spec.ports[{index}].nodePort"
        if kind == "ClusterIP":
            causes.append(forbidden_field(path, "may not be used when `type` is 'ClusterIP'"))
        key = (port.get("protocol", ""), number)
        causes += [duplicate(path, number)] if key in seen else []
        seen.add(key)
    return causes


def _load_balancer(spec: Object, kind: str) -> list[Cause]:
    causes: list[Cause] = []
    ranges = entries(spec, "loadBalancerSourceRanges")
    if kind != "LoadBalancer":
        given = {
            "LoadBalancerSourceRanges": bool(ranges),
            "allocateLoadBalancerNodePorts": spec.get("allocateLoadBalancerNodePorts") is not None,
            "loadBalancerClass": spec.get("loadBalancerClass") is not None,
        }
        return [
            forbidden_field(f"spec.{name}", _FOR_BALANCERS) for name, is_given in given.items() if is_given
        ]
    for index, text in enumerate(ranges):
        causes += _network(f"spec.LoadBalancerSourceRanges[{index}]", text)
    name = spec.get("loadBalancerClass")
    return causes if name is None else causes + named_by("spec.loadBalancerClass", name, names.qualified_name)


def _network(path: str, text: str) -> list[Cause]:
    try:
        ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return [invalid_value(path, text, _CIDR)]
    return [] if "/" in text else [invalid_value(path, text, _CIDR)]


def _kept_class(spec: Object, before: Object) -> list[Cause]:
    if spec.get("type") != "LoadBalancer" or before.get("type") != "LoadBalancer":
        return []
    new, old = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
    return [] if new == old else [invalid_value("spec.loadBalancerClass", new, "may not change once set")]


def _kept_address(spec: Object, before: Object) -> list[Cause]:
    old, new = before.get("clusterIP", ""), spec.get("clusterIP", "")
    if not old or not new or old == new or "ExternalName" in (spec.get("type"), before.get("type")):
        return []
    given = list(entries(spec, "clusterIPs"))
    if given == list(entries(before, "clusterIPs")):
        given = [new]
    return [invalid_value("spec.clusterIPs[0]", given or None, "may not change once set")]


def _policies(spec: Object, kind: str) -> list[Cause]:
    causes: list[Cause] = []
    policy, port = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    external = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    if external:
        causes += one_of("spec.externalTrafficPolicy", policy, _WHERE)
    elif policy:
        causes.append(invalid_value("spec.externalTrafficPolicy", policy, _FOR_EXTERNAL))
    if port and not (kind == "LoadBalancer" and policy == "Local"):
        causes.append(invalid_value("spec.healthCheckNodePort", port, _FOR_HEALTH))
    inside, distribution = spec.get("internalTrafficPolicy"), spec.get("trafficDistribution")
    if inside is not None and inside not in _WHERE:
        causes.append(not_supported("spec.internalTrafficPolicy", inside, _WHERE))
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        causes.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return causes


def _affinity(spec: Object) -> list[Cause]:
    path, affinity = "spec.sessionAffinityConfig", spec.get("sessionAffinity")
    config = spec.get("sessionAffinityConfig")
    if affinity == "None" and config is not None:
        return [forbidden_field(path, "must not be set when session affinity is None")]
    if affinity != "ClientIP":
        return []
    for step in ("clientIP", "timeoutSeconds"):
        if config is None:
            break
        path, config = f"{path}.{step}", config.get(step)
    if config is None:
        return [required(path, "when session affinity type is ClientIP")]
    fits = 0 < config <= _LONGEST_AFFINITY
    return [] if fits else [invalid_value(path, config, "must be greater than 0 and less than 86400")]


def _service_ports(ports: Any) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            causes.append(required(f"{path}.name"))
        elif name:
            causes += all_invalid(f"{path}.name", name, names.dns_1123_label(name))
            causes += [duplicate(f"{path}.name", name)] if name in seen else []
            seen.add(name)
        causes += port_number(f"{path}.port", port.get("port", 0))
        causes += one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
        causes += port_number_or_name(f"{path}.targetPort", port.get("targetPort", 0))
    return causes


def _duplicate_ports(ports: Any) -> list[Cause]:
    causes: list[Cause] = []
    seen: list[tuple[Any, Any]] = []
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            causes.append(duplicate(f"spec.ports[{index}]", shown))
        seen.append(key)
    return causes


_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"


def service_notices(service: Object, _old: Object | None) -> Iterator[str]:
    """Yield the warnings about a Service, in Kubernetes' order."""
    spec, kind = service["spec"], service["spec"].get("type")
    if _HINTS in (service["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if headless:
        yield from _of_headless(spec)
    if spec.get("externalIPs") and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("externalIPs") and kind == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and kind != "ExternalName":
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _of_headless(spec: Object) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity", "None") != "None":
        yield "spec.SessionAffinity is ignored for headless services"
