"""
Validation rules for a pod's other settings, such as DNS, scheduling gates, operating system and overhead.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidatePodSpec).
"""

from __future__ import annotations

import re
from typing import Any, Final

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.rules.service_rules import ip_address
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import NEGATIVE, Object, all_invalid, entries, part
from handloop_sandbox.wire.status import Cause

_SYSTEMS: Final = ("linux", "windows")
_MOST_SERVERS: Final = 3
_SEARCH_FORMAT: Final = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_SEARCH_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character"
)


def settings(path: str, spec: Object) -> list[Cause]:
    """Return the validation errors for the settings that this module covers."""
    causes = _resolution(path, spec)
    for index, alias in enumerate(entries(spec, "hostAliases")):
        at = f"{path}.hostAliases[{index}]"
        causes += ip_address(f"{at}.ip", alias.get("ip", ""))
        for nth, host in enumerate(entries(alias, "hostnames")):
            causes += all_invalid(f"{at}.hostnames[{nth}]", host, names.dns_1123_subdomain(host))
    for index, gate in enumerate(entries(spec, "readinessGates")):
        kind = gate.get("conditionType", "")
        at = f"{path}.readinessGates[{index}].conditionType"
        causes += all_invalid(at, kind, names.qualified_name(kind))
    gates = [gate.get("name", "") for gate in entries(spec, "schedulingGates")]
    for index, name in enumerate(gates):
        at = f"{path}.schedulingGates[{index}]"
        causes += all_invalid(at, name, names.qualified_name(name))
        causes += [duplicate(at, name)] if name in gates[:index] else []
    causes += _overhead(f"{path}.overhead", part(spec, "overhead"))
    system = spec.get("os")
    return causes if system is None else causes + _system(f"{path}.os", system.get("name", ""))


def _resolution(path: str, spec: Object) -> list[Cause]:
    config = spec.get("dnsConfig")
    servers = list(entries(config or {}, "nameservers"))
    causes: list[Cause] = []
    if spec.get("dnsPolicy") == "None" and config is None:
        text = "must provide `dnsConfig` when `dnsPolicy` is None"
        causes.append(required(f"{path}.dnsConfig", text))
    elif spec.get("dnsPolicy") == "None" and not servers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        causes.append(required(f"{path}.dnsConfig.nameservers", text))
    if config is None:
        return causes
    if len(servers) > _MOST_SERVERS:
        text = f"must not have more than {_MOST_SERVERS} nameservers"
        causes.append(invalid_value(f"{path}.dnsConfig.nameservers", servers, text))
    for index, server in enumerate(servers):
        causes += ip_address(f"{path}.dnsConfig.nameservers[{index}]", server)
    for index, search in enumerate(entries(config, "searches")):
        causes += _search(f"{path}.dnsConfig.searches[{index}]", search)
    return causes + [
        required(f"{path}.dnsConfig.options[{index}]", "must not be empty")
        for index, option in enumerate(entries(config, "options"))
        if not option.get("name")
    ]


def _search(path: str, search: str) -> list[Cause]:
    if search == "." or re.fullmatch(_SEARCH_FORMAT, search.removesuffix(".")):
        return []
    text = names.regex_error(_SEARCH_TEXT, _SEARCH_FORMAT, "example.com")
    return [invalid_value(path, search.removesuffix("."), text)]


def _overhead(path: str, amounts: Object) -> list[Cause]:
    return [
        invalid_value(f"{path}.limits[{name}]", str(amount), NEGATIVE)
        for name, amount in amounts.items()
        if parse_quantity(str(amount)) < 0
    ]


def _system(path: str, name: str) -> list[Cause]:
    if not name:
        return [required(f"{path}.name", "cannot be empty")]
    return [] if name in _SYSTEMS else [not_supported(path, name, _SYSTEMS)]


def sharing(path: str, spec: Object) -> list[Cause]:
    """Return the errors for host namespaces and procMounts that hostUsers does not allow."""
    is_apart = spec.get("hostUsers") is False
    causes = [
        forbidden_field(f"{path}.{name}", "when `hostUsers` is false")
        for name in ("hostNetwork", "hostPID", "hostIPC")
        if is_apart and spec.get(name)
    ]
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(entries(spec, kind)):
            mount: Any = part(container, "securityContext").get("procMount")
            if mount == "Unmasked" and not is_apart:
                at = f"{path}.{kind}[{index}].securityContext.procMount"
                causes.append(invalid_value(at, mount, "`hostUsers` must be false to use `Unmasked`"))
    return causes
