"""
The rows of networking kinds: Endpoints, Ingresses and NetworkPolicies.

Follows: kubernetes pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Any

from handloop_sandbox.tables.cell import NONE, Object, age_of, name_of, selector_cell, shortened
from handloop_sandbox.wire.field_rules import part


def endpoints_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, endpoints, age."""
    found = [text for subset in obj.get("subsets") or () for text in _endpoints(subset)]
    return [
        name_of(obj),
        shortened(found, len(found), empty="" if obj.get("subsets") else NONE),
        age_of(obj, now),
    ]


def _endpoints(subset: Object) -> list[str]:
    addresses = [entry["ip"] for entry in subset.get("addresses") or ()]
    ports = [entry["port"] for entry in subset.get("ports") or ()]
    if not ports:
        return addresses
    return [
        f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        for port in ports
        for address in addresses
    ]


def ingress_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, class, hosts, address, ports, age."""
    spec = part(obj, "spec")
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    points = part(obj, "status", "loadBalancer").get("ingress") or ()
    addresses = sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})
    ports = "80, 443" if spec.get("tls") else "80"
    return [
        name_of(obj),
        spec.get("ingressClassName") or NONE,
        shortened(hosts, len(hosts), empty="*"),
        ",".join(addresses),
        ports,
        age_of(obj, now),
    ]


def ingress_class_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, controller, parameters, age."""
    spec = part(obj, "spec")
    parameters = spec.get("parameters")
    text = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        text = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [name_of(obj), spec.get("controller", ""), text, age_of(obj, now)]


def network_policy_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, pod selector, age."""
    return [name_of(obj), selector_cell(part(obj, "spec").get("podSelector")), age_of(obj, now)]
