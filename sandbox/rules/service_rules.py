"""
What Services and Endpoints may look like, and what of a Service may change.

Follows: kubernetes pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from sandbox.rules.container_rules import PROTOCOLS
from sandbox.wire import names
from sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from sandbox.wire.field_rules import (
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
from sandbox.wire.status import Cause

_ONLY_NONE: Final = "'None' must be the first and only value"
_ONE_EACH: Final = "may specify no more than one IP for each IP family"
_FAMILIES: Final = ("IPv4", "IPv6")
_FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_LONGEST_AFFINITY: Final = 86400
_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def service(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A Service: its ports, and the address it keeps."""
    if subresource == "status":
        return []
    spec = part(new, "spec")
    kind = spec.get("type", "")
    addresses = [] if kind == "ExternalName" else _addresses(spec, part(old, "spec"))
    causes = _kept_address(spec, part(old, "spec")) if old is not None and not addresses else []
    ports = entries(spec, "ports")
    if (
        not ports
        and spec.get("clusterIP", "") != "None"
        and not _bad_address(spec)
        and kind != "ExternalName"
    ):
        causes.append(required("spec.ports"))
    if kind == "ExternalName":
        if spec.get("clusterIP"):
            causes.append(forbidden_field("spec.clusterIPs", "may not be set for ExternalName services"))
        causes += named_by(
            "spec.externalName", spec.get("externalName", "").rstrip("."), names.dns_1123_subdomain
        )
    causes += _service_ports(ports)
    causes += labels("spec.selector", part(spec, "selector"))
    causes += one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    causes += _affinity(spec)
    causes += addresses if kind == "ExternalName" else addresses + _families(spec)
    for index, external in enumerate(entries(spec, "externalIPs")):
        causes += ip_address(f"spec.externalIPs[{index}]", external)
    causes += one_of("spec.type", kind, _SERVICE_TYPES)
    causes += _policies(spec)
    return causes + _duplicate_ports(ports)


def _addresses(spec: Object, before: Object) -> list[Cause]:
    """The addresses of its own: None or one of each family, the first of them once more as clusterIP."""
    address, found = spec.get("clusterIP", ""), list(entries(spec, "clusterIPs"))
    if not address or found == list(entries(before, "clusterIPs")):
        found = [address, *found[1:]] if address else []
    causes = []
    if found and found[0] != address:
        causes.append(invalid_value("spec.clusterIPs", found, "first value must match `clusterIP`"))
    if found[:1] == ["None"]:
        alone = len(found) == 1
        return causes if alone else [*causes, invalid_value("spec.clusterIPs", found, _ONLY_NONE)]
    for index, given in enumerate(found):
        causes += ip_address(f"spec.clusterIPs[{index}]", given)
    if not causes and len(found) != len({":" in given for given in found}):
        causes.append(invalid_value("spec.clusterIPs", found, _ONE_EACH))
    return causes


def _kept_address(spec: Object, before: Object) -> list[Cause]:
    old, new = before.get("clusterIP", ""), spec.get("clusterIP", "")
    if not old or not new or old == new or "ExternalName" in (spec.get("type"), before.get("type")):
        return []
    given = list(entries(spec, "clusterIPs"))
    if given == list(entries(before, "clusterIPs")):
        given = [new]
    return [invalid_value("spec.clusterIPs[0]", given or None, "may not change once set")]


def _bad_address(spec: Object) -> bool:
    address = spec.get("clusterIP", "")
    return bool(address and address != "None" and ip_address("", address))


def _policies(spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    for name in ("externalTrafficPolicy", "internalTrafficPolicy"):
        if spec.get(name):
            causes += one_of(f"spec.{name}", spec[name], ("Cluster", "Local"))
    if spec.get("internalTrafficPolicy") == "":
        causes.append(not_supported("spec.internalTrafficPolicy", "", ("Cluster", "Local")))
    return causes


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


_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


_LEGACY_ADDRESS: Final = "must be a valid IP address"


def ip_address(path: str, address: str, *, text: str = _ADDRESS) -> list[Cause]:
    """An IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return [invalid_value(path, address, text)]
    return []


def endpoints(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Endpoints."""
    del old, subresource
    causes: list[Cause] = []
    for index, subset in enumerate(entries(new, "subsets")):
        path = f"subsets[{index}]"
        if not entries(subset, "addresses") and not entries(subset, "notReadyAddresses"):
            causes.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for kind in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(entries(subset, kind)):
                where, found = f"{path}.{kind}[{at}].ip", address.get("ip", "")
                causes += ip_address(where, found) + ip_address(where, found, text=_LEGACY_ADDRESS)
        ports = entries(subset, "ports")
        for at, port in enumerate(ports):
            if len(ports) > 1 and not port.get("name"):
                causes.append(required(f"{path}.ports[{at}].name"))
            causes += port_number(f"{path}.ports[{at}].port", port.get("port", 0))
            causes += one_of(f"{path}.ports[{at}].protocol", port.get("protocol"), PROTOCOLS)
    return causes
