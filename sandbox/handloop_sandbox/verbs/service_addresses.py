"""
Allocates the addresses and node ports of Services at random, as a real server does.

They are allocated before validation. A changed Service keeps its addresses and ports (`kept`), except those
that its new type does not have (`without_what_the_type_lost`). The cluster has only IPv4.
Follows: kubernetes pkg/registry/core/service/storage/{alloc,storage}.go (patchAllocatedValues,
normalizeClusterIPs), pkg/registry/core/service/strategy.go (dropTypeDependentFields).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final

from handloop_sandbox.requests.call import Call
from handloop_sandbox.rules import service_rules
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Cause, invalid

_SERVICES: Final = GroupResource("", "services")
_PREFIX: Final = "10.96"
_RANGE: Final = ipaddress.ip_network(f"{_PREFIX}.0.0/16")
_NODE_PORTS: Final = (30_000, 32_767)
_CHOSEN_PORTS: Final = range(30_000, 30_086)
"""While other ports are free, these ports are allocated only to clients that request them."""
_ONE_FAMILY: Final = "this cluster is not configured for dual-stack services"


def allocated(call: Call, service: Object) -> Object:
    """
    Return a new Service with the cluster IPs, IP families and node ports that its type needs.

    Raises: StatusError 422 if a requested address or port is not available.
    """
    spec = service.get("spec") or {}
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec = {**spec, "clusterIPs": [spec["clusterIP"]]}
    return {**service, "spec": _supplied(call, service, spec, {})}


def changed(call: Call, service: Object, old: Object) -> Object:
    """
    Return a changed Service with its old addresses and ports, and any others that it now needs.

    Raises: StatusError 422 if a requested address or port is not available.
    """
    before = old.get("spec") or {}
    spec = kept(service.get("spec") or {}, before)
    return {**service, "spec": _supplied(call, service, spec, before)}


class _Taken:
    """The addresses and ports of the existing Services, which are read once, when they are first needed."""

    def __init__(self, call: Call) -> None:
        self._call = call

    @cached_property
    def specs(self) -> list[Object]:
        return [entry.get("spec") or {} for entry in self._call.state.list(_SERVICES)]


def _supplied(call: Call, service: Object, spec: Object, before: Object) -> Object:
    name = service["metadata"].get("name", "")
    taken = _Taken(call)
    if has_address(spec):
        causes = service_rules.address_causes(spec, before) or _family_causes(spec)
        dry = bool(call.request.query.get("dryRun"))
        causes = causes or _address_causes(spec, before, taken, dry=dry)
        if causes:
            raise invalid(call.resource, name, causes)
        spec = _with_address(call, spec, taken)
    if has_node_ports(spec):
        dry = bool(call.request.query.get("dryRun"))
        causes = _port_causes(spec, before, taken, dry=dry)
        if causes:
            raise invalid(call.resource, name, causes)
        spec = {**spec, "ports": _with_node_ports(call, spec, taken, is_new=not before)}
    if has_health_port(spec) and not spec.get("healthCheckNodePort"):
        spec = {**spec, "healthCheckNodePort": _free_port(call, set(_ports_of(taken.specs)))}
    return spec


def _is_open(spec: Object) -> bool:
    """Return whether a Service is headless without a selector, so that its endpoints can be IPv6, too."""
    return spec.get("clusterIP") == "None" and not spec.get("selector")


def _family_causes(spec: Object) -> list[Cause]:
    """Return the errors about IP families that this cluster does not support."""
    policy, families = spec.get("ipFamilyPolicy"), spec.get("ipFamilies") or []
    if _is_open(spec):
        return []
    causes = []
    if policy == "RequireDualStack":
        causes.append(invalid_value("spec.ipFamilyPolicy", policy, _ONE_FAMILY))
    for index, family in enumerate(families):
        if family != "IPv4":
            text = "not configured on this cluster"
            causes.append(invalid_value(f"spec.ipFamilies[{index}]", family, text))
    return causes


def _address_causes(spec: Object, before: Object, taken: _Taken, *, dry: bool) -> list[Cause]:
    """Return the errors about a requested address that is not available."""
    addresses = spec.get("clusterIPs") or []
    if before.get("clusterIP") or addresses in ([], ["None"]):
        return []
    for index, text in enumerate(addresses):
        if ":" in text:
            return [
                invalid_value(
                    f"spec.clusterIPs[{index}]", addresses, "IPv6 is not configured on this cluster"
                )
            ]
    text = addresses[0]
    if ipaddress.ip_address(text) not in _RANGE:
        told = "the provided network does not match the current range"
        if dry:
            told = f"the provided IP ({text}) is not in the valid range. The range of valid IPs is {_RANGE}"
    elif text in {other.get("clusterIP") for other in taken.specs}:
        told = "provided IP is already allocated"
    else:
        return []
    return [invalid_value("spec.clusterIPs", addresses, f"failed to allocate IP {text}: {told}")]


def _with_address(call: Call, spec: Object, taken: _Taken) -> Object:
    address = spec.get("clusterIP") or _free_address(call, taken)
    both = _is_open(spec) and not spec.get("ipFamilyPolicy")
    most = 1 if spec.get("ipFamilyPolicy") == "SingleStack" else 2
    families = spec.get("ipFamilies") or (["IPv4", "IPv6"] if both else ["IPv4"])
    return {
        **spec,
        "clusterIP": address,
        "clusterIPs": spec.get("clusterIPs") or [address],
        "ipFamilies": families[:most],
        "ipFamilyPolicy": spec.get("ipFamilyPolicy") or ("RequireDualStack" if both else "SingleStack"),
    }


def _port_causes(spec: Object, before: Object, taken: _Taken, *, dry: bool) -> list[Cause]:
    """Return the errors about unavailable node ports. A dry run does not check their range."""
    own = set(_ports_of([before]))
    others = set(_ports_of(taken.specs)) - own
    seen: set[tuple[int, str]] = set()
    for index, port in enumerate(spec.get("ports") or []):
        number, key = port.get("nodePort"), (port.get("nodePort") or 0, port.get("protocol", "TCP"))
        if not number:
            continue
        low, high = _NODE_PORTS
        text = ""
        if not dry and not low <= number <= high and number not in own:
            text = f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
        elif number in others or key in seen:
            text = "provided port is already allocated"
        if text:
            return [invalid_value(f"spec.ports[{index}].nodePort", number, text)]
        seen.add(key)
    return []


def _ports_of(specs: Iterable[Object]) -> Iterable[int]:
    for spec in specs:
        yield from (port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
        if spec.get("healthCheckNodePort"):
            yield spec["healthCheckNodePort"]


def _free_address(call: Call, taken: _Taken) -> str:
    used = {spec.get("clusterIP") for spec in taken.specs}
    while True:
        address = f"{_PREFIX}.{call.context.random.randrange(256)}.{call.context.random.randrange(2, 255)}"
        if address not in used:
            return address


def _with_node_ports(call: Call, spec: Object, taken: _Taken, *, is_new: bool) -> list[dict[str, Any]]:
    """
    Return a Service's ports with their node ports.

    In a new Service, ports with the same number but different protocols share a node port.
    """
    ports: list[dict[str, Any]] = spec.get("ports") or []
    if spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        return ports
    used = {*_ports_of(taken.specs), *_ports_of([spec])}
    shared = _asked(ports) if is_new else {}
    result = []
    for port in ports:
        number = port.get("nodePort") or shared.get(port.get("port", 0)) or _free_port(call, used)
        used.add(number)
        if is_new:
            shared.setdefault(port.get("port", 0), number)
        result.append({**port, "nodePort": number})
    return result


def _asked(ports: list[dict[str, Any]]) -> dict[int, int]:
    """Map each port number to the first node port requested for it. All its protocols share that one."""
    return {port.get("port", 0): port["nodePort"] for port in reversed(ports) if port.get("nodePort")}


def _free_port(call: Call, taken: set[int]) -> int:
    low, high = _NODE_PORTS
    free = [number for number in range(low, high + 1) if number not in taken]
    return call.context.random.choice([n for n in free if n not in _CHOSEN_PORTS] or free)


WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")

_Spec = dict[str, Any]


def has_address(spec: _Spec) -> bool:
    """Return whether the Service's type has cluster IPs."""
    return spec.get("type") != "ExternalName"


def has_node_ports(spec: _Spec) -> bool:
    """Return whether the Service's type has node ports."""
    return spec.get("type") in WITH_NODE_PORTS


def has_health_port(spec: _Spec) -> bool:
    """Return whether a load balancer checks the Service's health on a separate port."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_external(spec: _Spec) -> bool:
    """Return whether the Service can be reached from outside the cluster."""
    return has_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def kept(spec: _Spec, before: _Spec) -> _Spec:
    """Return a changed spec in which missing addresses and ports have their old values."""
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
    """Fill in a missing node port from the old port of the same name, unless another port requests it."""
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
    """Return a changed Service without the fields that only its old type had, unless they were changed."""
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
"""
The fields that only some Services have, and the condition for each.

The cluster IP is also removed if only one of its two fields changes.
"""
