"""
NetworkPolicies and Ingresses: what they may look like.

Follows: kubernetes pkg/apis/networking/validation.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from handloop.sandbox.rules.container_rules import PROTOCOLS
from handloop.sandbox.wire import names
from handloop.sandbox.wire.causes import (
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from handloop.sandbox.wire.field_rules import (
    Object,
    all_invalid,
    entries,
    label_selector,
    part,
    port_name,
    port_number,
)
from handloop.sandbox.wire.status import Cause

_POLICY_TYPES: Final = ("Ingress", "Egress")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")


def network_policy(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A NetworkPolicy."""
    del old, subresource
    spec = part(new, "spec")
    causes = label_selector("spec.podSelector", part(spec, "podSelector"))
    for kind, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(entries(spec, kind)):
            path = f"spec.{kind}[{index}]"
            for at, port in enumerate(entries(rule, "ports")):
                causes += _policy_port(f"{path}.ports[{at}]", port)
            for at, peer in enumerate(entries(rule, peers)):
                causes += _peer(f"{path}.{peers}[{at}]", peer)
    kinds = entries(spec, "policyTypes")
    if len(kinds) > len(_POLICY_TYPES):
        text = "may not specify more than two policyTypes"
        return [*causes, invalid_value("spec.policyTypes", list(kinds), text)]
    for index, kind in enumerate(kinds):
        if kind not in _POLICY_TYPES:
            causes.append(not_supported(f"spec.policyTypes[{index}]", kind, _POLICY_TYPES))
    return causes


def _policy_port(path: str, port: Object) -> list[Cause]:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    causes = []
    if protocol is not None and protocol not in PROTOCOLS:
        causes.append(not_supported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    if isinstance(number, int):
        causes += port_number(f"{path}.port", number)
        if end is not None and end < number:
            causes.append(invalid_value(f"{path}.endPort", number, "must be greater than or equal to `port`"))
        causes += port_number(f"{path}.endPort", end) if end is not None else []
    elif number is not None:
        if end is not None:
            text = "may not be specified when `port` is non-numeric"
            causes.append(invalid_value(f"{path}.endPort", end, text))
        causes += all_invalid(f"{path}.port", number, port_name(number))
    elif end is not None:
        causes.append(
            invalid_value(f"{path}.endPort", end, "may not be specified when `port` is not specified")
        )
    return causes


def _peer(path: str, peer: Object) -> list[Cause]:
    causes: list[Cause] = []
    for name in ("podSelector", "namespaceSelector"):
        causes += label_selector(f"{path}.{name}", peer.get(name))
    block = peer.get("ipBlock")
    if block is not None:
        causes += _network(f"{path}.ipBlock.cidr", block.get("cidr", ""))
    if all(peer.get(name) is None for name in ("podSelector", "namespaceSelector", "ipBlock")):
        return [required(path, "must specify a peer")]
    if block is not None and len([value for value in peer.values() if value is not None]) > 1:
        causes.append(forbidden_field(path, "may not specify both ipBlock and another peer"))
    return causes


def _network(path: str, text: str) -> list[Cause]:
    if not text:
        return [required(path)]
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return [invalid_value(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    return []


def ingress(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """An Ingress."""
    del old
    if subresource == "status":
        return []
    spec = part(new, "spec")
    rules, default = entries(spec, "rules"), spec.get("defaultBackend")
    causes = []
    if not rules and default is None:
        causes.append(invalid_value("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if default is not None:
        causes += _backend("spec.defaultBackend", default)
    for index, rule in enumerate(rules):
        causes += _ingress_rule(f"spec.rules[{index}]", rule)
    for index, tls in enumerate(entries(spec, "tls")):
        for at, host in enumerate(entries(tls, "hosts")):
            causes += _host(f"spec.tls[{index}].hosts[{at}]", host)
        if name := tls.get("secretName"):
            causes += all_invalid(f"spec.tls[{index}].secretName", name, names.dns_1123_subdomain(name))
    return causes


def _ingress_rule(at: str, rule: Object) -> list[Cause]:
    causes = _host(f"{at}.host", rule["host"]) if rule.get("host") else []
    if rule.get("http") is None:
        return causes
    paths = entries(rule["http"], "paths")
    if not paths:
        return [*causes, required(f"{at}.http.paths")]
    for index, path in enumerate(paths):
        causes += _ingress_path(f"{at}.http.paths[{index}]", path)
    return causes


def _host(at: str, host: str) -> list[Cause]:
    return all_invalid(at, host, names.dns_1123_subdomain(host.removeprefix("*.")))


def _ingress_path(at: str, path: Object) -> list[Cause]:
    kind, where = path.get("pathType"), path.get("path", "")
    causes = []
    if kind is None:
        return [required(f"{at}.pathType", "pathType must be specified")]
    if kind not in _PATH_TYPES:
        causes.append(not_supported(f"{at}.pathType", kind, _PATH_TYPES))
    elif kind in {"Exact", "Prefix"} and not where.startswith("/"):
        causes.append(invalid_value(f"{at}.path", where, "must be an absolute path"))
    return causes + _backend(f"{at}.backend", part(path, "backend"))


def _backend(at: str, backend: Object) -> list[Cause]:
    service = backend.get("service")
    if service is None:
        text = "resource or service backend is required"
        return [] if backend.get("resource") is not None else [invalid_value(at, "", text)]
    name, port = service.get("name", ""), part(service, "port")
    causes = (
        all_invalid(f"{at}.service.name", name, names.dns_1123_label(name))
        if name
        else [required(f"{at}.service.name")]
    )
    if not port.get("name") and not port.get("number"):
        return [*causes, required(at, "port name or number is required")]
    if port.get("name") and port.get("number"):
        return [*causes, invalid_value(at, "", "cannot set both port name & port number")]
    if port.get("name"):
        return causes + all_invalid(f"{at}.service.port.name", port["name"], port_name(port["name"]))
    return causes + port_number(f"{at}.service.port.number", port["number"])
