"""
What a changed service keeps of the one before, and what it loses with its type.

Follows: kubernetes pkg/registry/core/service/storage/storage.go (patchAllocatedValues, normalizeClusterIPs),
pkg/registry/core/service/strategy.go (dropTypeDependentFields).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handloop.sandbox.storage.stored import Object

WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")

_Spec = dict[str, Any]


def has_address(spec: _Spec) -> bool:
    """Whether the type has cluster IPs."""
    return spec.get("type") != "ExternalName"


def has_node_ports(spec: _Spec) -> bool:
    """Whether the type has node ports."""
    return spec.get("type") in WITH_NODE_PORTS


def has_health_port(spec: _Spec) -> bool:
    """Whether a load balancer asks a port of its own about health."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_external(spec: _Spec) -> bool:
    """Whether it can be reached from outside of the cluster."""
    return has_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def kept(spec: _Spec, before: _Spec) -> _Spec:
    """A changed spec with the addresses and ports it had, where it does not mention them."""
    filled = {**spec, **_kept_addresses(spec, before)}
    if has_node_ports(before) and has_node_ports(spec):
        filled["ports"] = _kept_ports(spec.get("ports") or [], before.get("ports") or [])
    if has_health_port(before) and has_health_port(spec) and not spec.get("healthCheckNodePort"):
        filled["healthCheckNodePort"] = before.get("healthCheckNodePort")
    return {name: value for name, value in filled.items() if value is not None}


def _kept_addresses(spec: _Spec, before: _Spec) -> _Spec:
    if not has_address(spec):
        return {}
    filled: _Spec = {}
    address, given = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    old, all_old = before.get("clusterIP", ""), before.get("clusterIPs") or []
    if has_address(before):
        address = address or old
        given = given or (all_old if address == old else [])
        if not spec.get("ipFamilies"):
            filled["ipFamilies"] = before.get("ipFamilies")
        if "ipFamilyPolicy" not in spec:
            filled["ipFamilyPolicy"] = before.get("ipFamilyPolicy")
    if address != old and given == all_old:
        given = [address] if address else []
    return {**filled, "clusterIP": address or None, "clusterIPs": given or None}


def _kept_ports(ports: list[_Spec], before: list[_Spec]) -> list[_Spec]:
    """Each port without a node port gets the one its name had, unless a port has asked for that one."""
    used = _numbers(before) & _numbers(ports)
    known = {port.get("name", ""): port.get("nodePort") for port in before}
    result = []
    for port in ports:
        number = port.get("nodePort") or known.get(port.get("name", ""))
        if not port.get("nodePort") and number and number not in used:
            port = {**port, "nodePort": number}  # noqa: PLW2901 - the entry with its number
        result.append(port)
    return result


def _numbers(ports: list[_Spec]) -> set[int]:
    return {port["nodePort"] for port in ports if port.get("nodePort")}


def without_what_the_type_lost(service: Object, old: Object) -> Object:
    """A changed service without what only its former type had, unless that was changed, too."""
    spec, before = service.get("spec") or {}, old.get("spec") or {}
    replaced = bool(spec.get("clusterIPs")) and spec.get("clusterIP") != before.get("clusterIP")
    lost = {
        name
        for names, needs in _TYPE_DEPENDENT
        if needs(before) and not needs(spec)
        for name in names
        if (not replaced if name in _ADDRESSES else spec.get(name) == before.get(name))
    }
    rest = {name: value for name, value in spec.items() if name not in lost}
    ports = spec.get("ports") or []
    no_more = has_node_ports(before) and not has_node_ports(spec)
    if no_more and _numbers(ports) <= _numbers(before.get("ports") or []):
        rest["ports"] = [{name: port[name] for name in port if name != "nodePort"} for port in ports]
    return {**service, "spec": rest}


def _balances_load(spec: _Spec) -> bool:
    return spec.get("type") == "LoadBalancer"


_ADDRESSES: Final = ("clusterIP", "clusterIPs")
_TYPE_DEPENDENT: Final[tuple[tuple[tuple[str, ...], Callable[[_Spec], bool]], ...]] = (
    (("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"), has_address),
    (("healthCheckNodePort",), has_health_port),
    (("allocateLoadBalancerNodePorts", "loadBalancerClass"), _balances_load),
    (("externalTrafficPolicy",), is_external),
)
"""What goes, and what it takes to have it; an address also when it is replaced in one place only."""
