"""
Addresses and node ports of services, given out as the real server's allocators do: in range, unique, random.

Follows: kubernetes pkg/registry/core/service/storage/alloc.go.
"""

from __future__ import annotations

from typing import Any, Final

from sandbox.requests.call import Call
from sandbox.rules.service_rules import ip_address
from sandbox.storage.stored import Object
from sandbox.wire.resource import GroupResource
from sandbox.wire.status import invalid

_SERVICES: Final = GroupResource("", "services")
_PREFIX: Final = "10.96"
_NODE_PORTS: Final = (30_000, 32_767)
_WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")


def allocated(call: Call, service: Object) -> Object:
    """A new service with a cluster IP, families and node ports where its type has them."""
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return service
    address = spec.get("clusterIP") or _free_address(call)
    _check_allocatable(call, service, address)
    # pods of a headless service without a selector may have addresses of either family
    both = address == "None" and not spec.get("selector") and not spec.get("ipFamilyPolicy")
    families = spec.get("ipFamilies") or (["IPv4", "IPv6"] if both else ["IPv4"])
    spec = {
        **spec,
        "clusterIP": address,
        "clusterIPs": spec.get("clusterIPs") or [address],
        "ipFamilies": families,
        "ipFamilyPolicy": spec.get("ipFamilyPolicy") or ("RequireDualStack" if both else "SingleStack"),
    }
    if spec.get("type") in _WITH_NODE_PORTS:
        spec["ports"] = _with_node_ports(call, spec.get("ports") or [])
    return {**service, "spec": spec}


def _check_allocatable(call: Call, service: Object, address: str) -> None:
    """Refuse (422) what is no address, before anything else is looked at."""
    causes = [] if address == "None" else ip_address("spec.clusterIPs[0]", address)
    if causes:
        raise invalid(call.resource, service["metadata"]["name"], causes)


def kept(service: Object, old: Object) -> Object:
    """A changed service with the addresses it had, where the change does not mention them."""
    spec, before = _without_what_its_type_needs_no_more(service, old), old.get("spec") or {}
    service = {**service, "spec": spec}
    if spec.get("type") == "ExternalName" or before.get("type") == "ExternalName":
        return service
    names = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort")
    silent = [name for name in names if not spec.get(name) and (name != "ipFamilyPolicy" or name not in spec)]
    filled = {name: before[name] for name in silent if name in before}
    return {**service, "spec": {**spec, **filled}}


def _without_what_its_type_needs_no_more(service: Object, old: Object) -> Object:
    """The spec without addresses and node ports that a former type had, unless they were changed, too."""
    spec, before = service.get("spec") or {}, old.get("spec") or {}
    dropped: set[str] = set()
    if spec.get("type") == "ExternalName" != before.get("type"):
        if spec.get("clusterIP") == before.get("clusterIP"):
            dropped |= {"clusterIP", "clusterIPs"}
        dropped |= {name for name in ("ipFamilies", "ipFamilyPolicy") if spec.get(name) == before.get(name)}
    spec = {name: value for name, value in spec.items() if name not in dropped}
    if before.get("type") in _WITH_NODE_PORTS and spec.get("type") not in _WITH_NODE_PORTS:
        ports = spec.get("ports") or []
        if _node_ports(ports) == _node_ports(before.get("ports") or []):
            bare = [{name: port[name] for name in port if name != "nodePort"} for port in ports]
            spec = {**spec, "ports": bare}
    return spec


def _node_ports(ports: list[dict[str, Any]]) -> set[int | None]:
    return {port.get("nodePort") for port in ports}


def _free_address(call: Call) -> str:
    taken = {(entry.get("spec") or {}).get("clusterIP") for entry in call.state.list(_SERVICES)}
    while True:
        address = f"{_PREFIX}.{call.context.random.randrange(256)}.{call.context.random.randrange(2, 255)}"
        if address not in taken:
            return address


def _with_node_ports(call: Call, ports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    taken = {
        port.get("nodePort")
        for entry in call.state.list(_SERVICES)
        for port in (entry.get("spec") or {}).get("ports") or ()
    }
    result = []
    for port in ports:
        number = port.get("nodePort") or _free_port(call, taken)
        taken.add(number)
        result.append({**port, "nodePort": number})
    return result


def _free_port(call: Call, taken: set[int | None]) -> int:
    low, high = _NODE_PORTS
    free = [number for number in range(low, high + 1) if number not in taken]
    return call.context.random.choice(free)
