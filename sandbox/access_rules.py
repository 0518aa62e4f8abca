"""
What RBAC, networking, discovery and class objects may look like, and what of them may change.

Follows: kubernetes pkg/apis/{rbac,networking,discovery,scheduling,storage}/validation.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final

from sandbox import names
from sandbox.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from sandbox.container_rules import PROTOCOLS
from sandbox.field_rules import (
    Object,
    all_invalid,
    entries,
    immutable,
    label_selector,
    one_of,
    part,
    port_name,
    port_number,
)
from sandbox.service_rules import ip_address
from sandbox.status import Cause

RBAC: Final = "rbac.authorization.k8s.io"
MAX_PRIORITY: Final = 1_000_000_000
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_DOMAIN_PATH: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[^\s]+")


def role(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A Role: rules about resources."""
    del old, subresource
    return _rules(new, namespaced=True)


def cluster_role(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A ClusterRole: rules about resources or paths, or an aggregation of other roles."""
    del old, subresource
    causes = _rules(new, namespaced=False)
    aggregation = new.get("aggregationRule")
    if aggregation is not None and not entries(aggregation, "clusterRoleSelectors"):
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        causes.append(required("aggregationRule.clusterRoleSelectors", text))
    return causes


def _rules(new: Object, *, namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    for index, rule in enumerate(entries(new, "rules")):
        causes += _rule(f"rules[{index}]", rule, namespaced=namespaced)
    return causes


def _rule(path: str, rule: Object, *, namespaced: bool) -> list[Cause]:
    causes = (
        [] if entries(rule, "verbs") else [required(f"{path}.verbs", "verbs must contain at least one value")]
    )
    urls = entries(rule, "nonResourceURLs")
    if urls:
        where = f"{path}.nonResourceURLs"
        if namespaced:
            causes.append(invalid_value(where, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(entries(rule, name) for name in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(invalid_value(where, urls, text))
        return causes
    if not entries(rule, "apiGroups"):
        causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not entries(rule, "resources"):
        causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def role_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A RoleBinding: it never changes its role."""
    del subresource
    return _binding(new, old, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A ClusterRoleBinding: it never changes its role."""
    del subresource
    return _binding(new, old, ("ClusterRole",), namespaced=False)


def _binding(new: Object, old: Object | None, kinds: tuple[str, ...], *, namespaced: bool) -> list[Cause]:
    reference = part(new, "roleRef")
    causes = []
    if reference.get("apiGroup") != RBAC:
        causes.append(not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), [RBAC]))
    if reference.get("kind") not in kinds:
        causes.append(not_supported("roleRef.kind", reference.get("kind", ""), kinds))
    name = reference.get("name", "")
    causes += (
        all_invalid("roleRef.name", name, names.path_segment(name)) if name else [required("roleRef.name")]
    )
    for index, subject in enumerate(entries(new, "subjects")):
        causes += _subject(f"subjects[{index}]", subject, namespaced=namespaced)
    if old is not None and part(old, "roleRef") != reference:
        causes.append(invalid_value("roleRef", dict(reference), "cannot change roleRef"))
    return causes


def _subject(path: str, subject: Object, *, namespaced: bool) -> list[Cause]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    causes = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        causes += all_invalid(f"{path}.name", name, names.dns_1123_subdomain(name)) if name else []
        causes += [not_supported(f"{path}.apiGroup", group, [""])] if group else []
        if not namespaced and not subject.get("namespace"):
            causes.append(required(f"{path}.namespace"))
    elif kind in {"User", "Group"}:
        causes += [] if group == RBAC else [not_supported(f"{path}.apiGroup", group, [RBAC])]
    else:
        causes.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return causes


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
    for index, kind in enumerate(entries(spec, "policyTypes")):
        if kind not in {"Ingress", "Egress"}:
            causes.append(not_supported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress")))
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


def ingress_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """An IngressClass: its controller stays."""
    del subresource
    controller = part(new, "spec").get("controller", "")
    if old is not None:
        return immutable("spec.controller", controller, part(old, "spec").get("controller"))
    causes = [] if controller else [required("spec.controller")]
    if controller and not _DOMAIN_PATH.fullmatch(controller):
        causes.append(
            invalid_value(
                "spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")'
            )
        )
    parameters = part(new, "spec").get("parameters")
    if parameters is not None:
        causes += [
            required(f"spec.parameters.{name}") for name in ("kind", "name") if not parameters.get(name)
        ]
    return causes


def endpoint_slice(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """An EndpointSlice."""
    del subresource
    kind = new.get("addressType", "")
    causes = [] if old is None else immutable("addressType", kind, old.get("addressType"))
    if not kind:
        causes.append(required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        causes.append(not_supported("addressType", kind, _ADDRESS_TYPES))
    causes += _slice_ports(entries(new, "ports"))
    for index, endpoint in enumerate(entries(new, "endpoints")):
        path, addresses = f"endpoints[{index}].addresses", entries(endpoint, "addresses")
        if not addresses:
            causes.append(required(path, "must contain at least 1 address"))
        for at, address in enumerate(addresses if kind in {"IPv4", "IPv6"} else ()):
            causes += ip_address(f"{path}[{at}]", address)
    return causes


def _slice_ports(ports: Any) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port.get("name") or ""
        causes += all_invalid(f"{path}.name", name, names.dns_1123_label(name)) if name else []
        causes += [duplicate(f"{path}.name", name)] if name in seen else []
        seen.add(name)
        causes += one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    return causes


def priority_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A PriorityClass: its value stays."""
    del subresource
    value = new.get("value", 0)
    if old is not None:
        causes = (
            []
            if value == old.get("value", 0)
            else [forbidden_field("value", "may not be changed in an update.")]
        )
        return causes + immutable(
            "preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy")
        )
    name = part(new, "metadata").get("name", "")
    if value > MAX_PRIORITY and not name.startswith("system-"):
        text = f"maximum allowed value of a user defined priority is {MAX_PRIORITY}"
        return [forbidden_field("value", text)]
    return one_of("preemptionPolicy", new.get("preemptionPolicy"), ("PreemptLowerPriority", "Never"))


def storage_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A StorageClass: provisioner, parameters and policies stay."""
    del subresource
    if old is None:
        name = new.get("provisioner", "")
        return (
            all_invalid("provisioner", name.lower(), names.qualified_name(name.lower()))
            if name
            else [required("provisioner")]
        )
    causes = [
        forbidden_field(name, f"updates to {name} are forbidden.")
        for name in ("parameters", "provisioner", "reclaimPolicy")
        if new.get(name) != old.get(name)
    ]
    return causes + immutable("volumeBindingMode", new.get("volumeBindingMode"), old.get("volumeBindingMode"))
