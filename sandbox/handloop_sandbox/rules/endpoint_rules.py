"""
Validation rules for EndpointSlices and Endpoints.

Follows: kubernetes pkg/apis/discovery/validation/validation.go, pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, Final

from handloop_sandbox.rules.container_rules import PROTOCOLS
from handloop_sandbox.rules.service_rules import ip_address
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, invalid_value, required, too_many
from handloop_sandbox.wire.field_rules import (
    Object,
    all_invalid,
    entries,
    immutable,
    labels,
    one_of,
    part,
    port_number,
)
from handloop_sandbox.wire.status import Cause

_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_MOST_ADDRESSES: Final = 100
_MOST_ENDPOINTS: Final = 1000
_MOST_HINTS: Final = 8
_FEWEST_PARTS: Final = 2
_SHARED: Final = ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16")


def endpoint_slice(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for an EndpointSlice. Unchanged endpoints are not checked again."""
    del subresource
    kind = new.get("addressType", "")
    causes = one_of("addressType", kind, _TYPES) + _ports(entries(new, "ports"))
    if old is None or old.get("endpoints") != new.get("endpoints"):
        causes += _endpoints(entries(new, "endpoints"), kind)
    return causes if old is None else causes + immutable("addressType", kind, old.get("addressType"))


def endpoints(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for an Endpoints object. Unchanged subsets are not checked again."""
    del subresource
    if old is not None and old.get("subsets") == new.get("subsets"):
        return []
    causes: list[Cause] = []
    for index, subset in enumerate(entries(new, "subsets")):
        path, ports = f"subsets[{index}]", entries(subset, "ports")
        if not entries(subset, "addresses") and not entries(subset, "notReadyAddresses"):
            causes.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for member in ("addresses", "notReadyAddresses"):
            for nth, address in enumerate(entries(subset, member)):
                at, given = f"{path}.{member}[{nth}]", address.get("ip", "")
                causes += ip_address(f"{at}.ip", given) + _placed(at, address) + _reachable(f"{at}.ip", given)
        for nth, port in enumerate(ports):
            at = f"{path}.ports[{nth}]"
            causes += [required(f"{at}.name")] if len(ports) > 1 and not port.get("name") else []
            causes += port_number(f"{at}.port", port.get("port", 0)) + _port(at, port)
    return causes


def slice_notices(obj: Object, old: Object | None) -> list[str]:
    """Return the warnings about an EndpointSlice."""
    is_old_style = old is None and obj.get("addressType") == "FQDN"
    told = ["spec.addressType: FQDN endpoints are deprecated"] if is_old_style else []
    for index, endpoint in enumerate(entries(obj, "endpoints")):
        for nth, address in enumerate(entries(endpoint, "addresses")):
            told += _odd_address(f"endpoints[{index}].addresses[{nth}]", address)
    return told


def _odd_address(path: str, address: str) -> list[str]:
    """Return the warning about an IPv6 address that is IPv4-mapped or not in RFC 5952's canonical form."""
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return []
    if found.ipv4_mapped is not None:
        return [f'{path}: non-standard IP address "{address}" is invalid: use "{found.ipv4_mapped}"']
    if str(found) == address:
        return []
    return [f'{path}: IPv6 address "{address}" should be in RFC 5952 canonical format ("{found}")']


def _endpoints(given: Sequence[Any], kind: str) -> list[Cause]:
    if len(given) > _MOST_ENDPOINTS:
        return [too_many("endpoints", len(given), _MOST_ENDPOINTS)]
    causes: list[Cause] = []
    for index, endpoint in enumerate(given):
        path, addresses = f"endpoints[{index}]", entries(endpoint, "addresses")
        if not addresses:
            causes.append(required(f"{path}.addresses", "must contain at least 1 address"))
        if len(addresses) > _MOST_ADDRESSES:
            causes.append(too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES))
        for nth, address in enumerate(addresses):
            causes += _address(f"{path}.addresses", nth, address, kind)
        causes += _placed(path, endpoint)
        causes += labels(f"{path}.deprecatedTopology", part(endpoint, "deprecatedTopology"))
        for member in ("forZones", "forNodes"):
            causes += _hints(f"{path}.hints.{member}", entries(part(endpoint, "hints"), member))
    return causes


def _address(path: str, index: int, address: str, kind: str) -> list[Cause]:
    at = f"{path}[{index}]"
    if kind == "FQDN":
        return _domain(at, address)
    if kind not in _TYPES:
        return []
    if wrong := ip_address(at, address):
        return wrong
    causes: list[Cause] = []
    if (":" in address) != (kind == "IPv6"):
        causes.append(invalid_value(path, address, f"must be an {kind} address"))
    return causes + _reachable(at, address)


def _domain(path: str, name: str) -> list[Cause]:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if wrong := names.dns_1123_subdomain(name):
        return [invalid_value(path, name, ",".join(wrong))]
    if len(name.split(".")) < _FEWEST_PARTS:
        return [invalid_value(path, name, "should be a domain with at least two segments separated by dots")]
    long = next((label for label in name.split(".") if names.dns_1123_label(label)), "")
    return [invalid_value(path, long, ",".join(names.dns_1123_label(long)))] if long else []


def _reachable(path: str, address: str) -> list[Cause]:
    """Return the errors for an address that other machines cannot reach, such as a loopback address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return [invalid_value(path, address, "must be a valid IP address")]
    told = {
        f"may not be unspecified ({address})": found.is_unspecified,
        "may not be in the loopback range (127.0.0.0/8, ::1/128)": found.is_loopback,
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)": found.is_link_local,
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)": any(
            found in network for network in _SHARED
        ),
    }
    return all_invalid(path, address, (text for text, is_so in told.items() if is_so))


def _placed(path: str, given: Object) -> list[Cause]:
    node, host = given.get("nodeName"), given.get("hostname")
    causes = [] if node is None else all_invalid(f"{path}.nodeName", node, names.dns_1123_subdomain(node))
    return causes if not host else causes + all_invalid(f"{path}.hostname", host, names.dns_1123_label(host))


def _hints(path: str, hints: Sequence[Any]) -> list[Cause]:
    if len(hints) > _MOST_HINTS:
        return [too_many(path, len(hints), _MOST_HINTS)]
    causes: list[Cause] = []
    found = [hint.get("name", "") for hint in hints]
    for index, name in enumerate(found):
        at = f"{path}[{index}].name"
        causes += [duplicate(at, name)] if name in found[:index] else []
        rule = names.label_value if path.endswith("forZones") else names.dns_1123_subdomain
        causes += all_invalid(at, name, rule(name))
    return causes


def _ports(ports: Sequence[Any]) -> list[Cause]:
    causes: list[Cause] = []
    found = [port.get("name", "") for port in ports]
    for index, port in enumerate(ports):
        path = f"ports[{index}]"
        causes += _port(path, port)
        causes += [duplicate(f"{path}.name", found[index])] if found[index] in found[:index] else []
    return causes


def _port(path: str, port: Object) -> list[Cause]:
    name, protocol = port.get("name", ""), port.get("appProtocol")
    causes = all_invalid(f"{path}.name", name, names.dns_1123_label(name)) if name else []
    causes += one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    if protocol is not None:
        causes += all_invalid(f"{path}.appProtocol", protocol, names.qualified_name(protocol))
    return causes
