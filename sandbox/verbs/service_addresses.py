"""
Addresses and node ports of services, given out as the real server's allocators do: in range, unique, random.

Follows: kubernetes pkg/registry/core/service/storage/alloc.go.
"""

from __future__ import annotations

from typing import Any, Final

from sandbox.requests.call import Call
from sandbox.storage.stored import Object
from sandbox.wire.resource import GroupResource

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
    families = spec.get("ipFamilies") or ["IPv4"]
    spec = {
        **spec,
        "clusterIP": address,
        "clusterIPs": spec.get("clusterIPs") or [address],
        "ipFamilies": families,
        "ipFamilyPolicy": spec.get("ipFamilyPolicy") or "SingleStack",
    }
    if spec.get("type") in _WITH_NODE_PORTS:
        spec["ports"] = _with_node_ports(call, spec.get("ports") or [])
    return {**service, "spec": spec}


def kept(service: Object, old: Object) -> Object:
    """A changed service with the addresses it had, where the change does not mention them."""
    spec, before = service.get("spec") or {}, old.get("spec") or {}
    if spec.get("type") == "ExternalName" or before.get("type") == "ExternalName":
        return service
    names = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort")
    filled = {name: before[name] for name in names if name in before and not spec.get(name)}
    return {**service, "spec": {**spec, **filled}}


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
