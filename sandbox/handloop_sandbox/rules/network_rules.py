"""
Validation rules for Ingresses, IngressClasses and NetworkPolicies.

Follows: kubernetes pkg/apis/networking/validation/validation.go.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required, too_long
from handloop_sandbox.wire.field_rules import (
    Object,
    all_invalid,
    entries,
    label_selector,
    named_by,
    part,
    port_name,
    port_number,
    port_number_or_name,
)
from handloop_sandbox.wire.status import Cause

_CLASS: Final = "kubernetes.io/ingress.class"
_DEPRECATED: Final = f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END: Final = ("/..", "/.")
_WILDCARD: Final = names.regex_error(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
    "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "*.example.com",
)
_LONGEST_CONTROLLER: Final = 250
_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_POLICY_TYPES: Final = ("Ingress", "Egress")


def ingress(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for an Ingress: its hosts, paths and backends."""
    if subresource == "status":
        return []
    spec = part(new, "spec")
    default, rules = spec.get("defaultBackend"), entries(spec, "rules")
    causes: list[Cause] = []
    for index, rule in enumerate(rules):
        causes += _ingress_rule(f"spec.rules[{index}]", rule)
    if default is not None:
        causes += _backend("spec.defaultBackend", default)
    elif not rules:
        text = "either `defaultBackend` or `rules` must be specified"
        causes.append(invalid_value("spec", None, text))
    for index, entry in enumerate(entries(spec, "tls")):
        for nth, host in enumerate(entries(entry, "hosts")):
            causes += _host(f"spec.tls[{index}].hosts[{nth}]", host)
        if secret := entry.get("secretName"):
            causes += all_invalid(f"spec.tls[{index}].secretName", secret, names.dns_1123_subdomain(secret))
    if chosen := spec.get("ingressClassName"):
        causes += all_invalid("spec.ingressClassName", chosen, names.dns_1123_subdomain(chosen))
        given = part(new, "metadata", "annotations").get(_CLASS)
        if old is None and given and given != chosen:
            text = "must match `ingressClassName` when both are specified"
            causes.append(invalid_value(f"annotations.{_CLASS}", given, text))
    return causes


def ingress_notices(obj: Object, old: Object | None) -> list[str]:
    """Return the warnings about a new Ingress."""
    is_new = old is None and part(obj, "spec").get("ingressClassName") is None
    return [_DEPRECATED] if is_new and _CLASS in part(obj, "metadata", "annotations") else []


def _ingress_rule(path: str, rule: Object) -> list[Cause]:
    host, http = rule.get("host", ""), rule.get("http")
    causes = _host(f"{path}.host", host) if host else []
    if http is None:
        return causes
    paths = entries(http, "paths")
    if not paths:
        return [*causes, required(f"{path}.http.paths")]
    for index, entry in enumerate(paths):
        causes += _path(f"{path}.http.paths[{index}]", entry)
    return causes


def _host(path: str, host: str) -> list[Cause]:
    if _is_address(host):
        return [invalid_value(path, host, "must be a DNS name, not an IP address")]
    if "*" in host:
        rest = host.removeprefix("*.")
        is_good = host.startswith("*.") and "*" not in rest and not names.dns_1123_subdomain(rest)
        return [] if is_good else [invalid_value(path, host, _WILDCARD)]
    return all_invalid(path, host, names.dns_1123_subdomain(host))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _path(path: str, entry: Object) -> list[Cause]:
    kind, where = entry.get("pathType"), entry.get("path") or ""
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    if kind not in _PATH_TYPES:
        wrong = not_supported(f"{path}.pathType", kind, _PATH_TYPES)
        return [wrong, *_backend(f"{path}.backend", entry.get("backend") or {})]
    causes: list[Cause] = []
    if not where.startswith("/") and (where or kind != "ImplementationSpecific"):
        causes.append(invalid_value(f"{path}.path", where, "must be an absolute path"))
    if kind != "ImplementationSpecific" and where.startswith("/"):
        causes += [
            invalid_value(f"{path}.path", where, f"must not contain '{bad}'")
            for bad in _NOT_IN_PATHS
            if bad in where
        ]
        causes += [
            invalid_value(f"{path}.path", where, f"cannot end with '{bad}'")
            for bad in _NOT_AT_THE_END
            if where.endswith(bad)
        ]
    return causes + _backend(f"{path}.backend", entry.get("backend") or {})


def _backend(path: str, backend: Object) -> list[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is None and resource is None:
        return [invalid_value(path, "", "resource or service backend is required")]
    if service is not None and resource is not None:
        return [invalid_value(path, "", "cannot set both resource and service backends")]
    if service is None:
        given = part(backend, "resource")
        return [required(f"{path}.resource.{name}") for name in ("kind", "name") if not given.get(name)]
    causes = named_by(f"{path}.service.name", service.get("name"), names.dns_1123_label)
    return causes + _service_port(path, part(service, "port"))


def _service_port(path: str, port: Object) -> list[Cause]:
    number, name = port.get("number"), port.get("name")
    if number and name:
        return [invalid_value(path, "", "cannot set both port name & port number")]
    if name:
        return all_invalid(f"{path}.service.port.name", name, port_name(name))
    if number:
        return port_number(f"{path}.service.port.number", number)
    return [required(path, "port name or number is required")]


def ingress_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for an IngressClass, whose controller cannot change."""
    del subresource
    spec = part(new, "spec")
    controller, parameters = spec.get("controller", ""), spec.get("parameters")
    causes = [] if parameters is None else _parameters("spec.parameters", parameters)
    if old is not None and controller != part(old, "spec").get("controller", ""):
        causes.append(invalid_value("spec.controller", controller, "field is immutable"))
    if len(controller) > _LONGEST_CONTROLLER:
        causes.append(too_long("spec.controller", _LONGEST_CONTROLLER))
    elif not controller:
        causes.append(required("spec.controller"))
    elif "/" not in controller.strip("/"):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        causes.append(invalid_value("spec.controller", controller, text))
    return causes


def _parameters(path: str, given: Object) -> list[Cause]:
    causes = [required(f"{path}.{name}") for name in ("kind", "name") if not given.get(name)]
    scope, namespace = given.get("scope", "Cluster"), given.get("namespace")
    if scope not in {"Cluster", "Namespace"}:
        return [*causes, not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))]
    if scope == "Namespace" and not namespace:
        causes.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    if scope == "Cluster" and namespace is not None:
        causes.append(forbidden_field(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return causes


def network_policy(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a NetworkPolicy: its selectors, peers and ports."""
    del old, subresource
    spec = part(new, "spec")
    causes = label_selector("spec.podSelector", part(spec, "podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(entries(spec, direction)):
            path = f"spec.{direction}[{index}]"
            for nth, port in enumerate(entries(rule, "ports")):
                causes += _policy_port(f"{path}.ports[{nth}]", port)
            for nth, peer in enumerate(entries(rule, peers)):
                causes += _peer(f"{path}.{peers}[{nth}]", peer)
    types = list(entries(spec, "policyTypes"))
    if len(types) > len(_POLICY_TYPES):
        text = "may not specify more than two policyTypes"
        return [*causes, invalid_value("spec.policyTypes", types, text)]
    return causes + [
        not_supported(f"spec.policyTypes[{index}]", kind, _POLICY_TYPES)
        for index, kind in enumerate(types)
        if kind not in _POLICY_TYPES
    ]


def _policy_port(path: str, given: Object) -> list[Cause]:
    protocol, port, end = given.get("protocol"), given.get("port"), given.get("endPort")
    causes: list[Cause] = []
    if protocol and protocol not in _PROTOCOLS:
        causes.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if port is not None:
        causes += port_number_or_name(f"{path}.port", port)
    return causes if end is None else causes + _end_port(f"{path}.endPort", port, end)


def _end_port(path: str, port: Any, end: int) -> list[Cause]:
    if port is None:
        return [invalid_value(path, end, "may not be specified when `port` is not specified")]
    if isinstance(port, str):
        return [invalid_value(path, end, "may not be specified when `port` is non-numeric")]
    causes = [invalid_value(path, port, "must be greater than or equal to `port`")] if end < port else []
    return causes + port_number(path, end)


def _peer(path: str, peer: Object) -> list[Cause]:
    pods, namespaces, block = (peer.get(name) for name in ("podSelector", "namespaceSelector", "ipBlock"))
    causes = label_selector(f"{path}.podSelector", pods)
    causes += label_selector(f"{path}.namespaceSelector", namespaces)
    if block is not None:
        causes += _ip_block(f"{path}.ipBlock", block)
    selects = pods is not None or namespaces is not None
    if not selects and block is None:
        causes.append(required(path, "must specify a peer"))
    elif selects and block is not None:
        causes.append(forbidden_field(path, "may not specify both ipBlock and another peer"))
    return causes


def _ip_block(path: str, block: Object) -> list[Cause]:
    given = block.get("cidr", "")
    if not given:
        return [required(f"{path}.cidr")]
    network = _network(given)
    if network is None:
        return [invalid_value(f"{path}.cidr", given, _CIDR)]
    causes = []
    for index, text in enumerate(entries(block, "except")):
        inner, where = _network(text), f"{path}.except[{index}]"
        if inner is None:
            causes.append(invalid_value(where, text, _CIDR))
        elif not _is_strictly_in(inner, network):
            causes.append(invalid_value(where, text, "must be a strict subset of `cidr`"))
    return causes


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _network(text: str) -> _Network | None:
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def _is_strictly_in(inner: _Network, outer: _Network) -> bool:
    same_kind = inner.version == outer.version
    return same_kind and inner.prefixlen > outer.prefixlen and outer.overlaps(inner)
