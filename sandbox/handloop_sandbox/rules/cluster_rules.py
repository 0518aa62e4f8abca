"""
Validation rules for ConfigMaps, Secrets, Leases, APIServices and PriorityClasses, and for their updates.

Follows: kubernetes pkg/apis/{core,coordination,scheduling}/validation, kube-aggregator
pkg/apis/apiregistration/validation.
"""

from __future__ import annotations

import base64
from typing import Final

from handloop_sandbox.cluster.bootstrap import SYSTEM_PRIORITIES
from handloop_sandbox.rules.environment_rules import config_key_causes
from handloop_sandbox.wire import go_json, names, webhook_client
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, quoted, required, too_long
from handloop_sandbox.wire.field_rules import (
    NEGATIVE,
    Object,
    all_invalid,
    immutable,
    one_of,
    part,
)
from handloop_sandbox.wire.status import Cause

MAX_PRIORITY: Final = 1_000_000_000
MAX_DATA: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"
_SYSTEM_CLASS: Final = (
    "priority class names with 'system-' prefix are reserved for system use only. error: {0}"
)
_PRIORITIES: Final = {"groupPriorityMinimum": 20000, "versionPriority": 1000}
_NEEDED_KEYS: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def config_map(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a ConfigMap, such as invalid keys or changes to an immutable one."""
    del subresource
    causes = _frozen(new, old, "data", "binaryData")
    plain, binary = part(new, "data"), part(new, "binaryData")
    for key in plain:
        causes += config_key_causes(f"data[{key}]", key)
        if key in binary:
            causes.append(invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in binary:
        causes += config_key_causes(f"binaryData[{key}]", key)
    size = sum(len(value.encode()) for value in plain.values()) + sum(map(_decoded_size, binary.values()))
    return [*causes, too_long("[]", MAX_DATA)] if size > MAX_DATA else causes


def _decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=")


def _frozen(new: Object, old: Object | None, *members: str) -> list[Cause]:
    if old is None or not old.get("immutable"):
        return []
    causes = [] if new.get("immutable") else [forbidden_field("immutable", _FROZEN)]
    return causes + [forbidden_field(name, _FROZEN) for name in members if new.get(name) != old.get(name)]


def secret(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a Secret, such as invalid or missing keys."""
    del subresource
    causes = immutable("type", new.get("type"), old.get("type")) if old is not None else []
    causes += _frozen(new, old, "data")
    data = part(new, "data")
    for key in data:
        causes += config_key_causes(f"data[{key}]", key)
    if sum(map(_decoded_size, data.values())) > MAX_DATA:
        causes.append(too_long("data", MAX_DATA))
    return causes + _needed_keys(new, data)


def _needed_keys(new: Object, data: Object) -> list[Cause]:
    kind = new.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        name = part(new, "metadata", "annotations").get("kubernetes.io/service-account.name")
        return [] if name else [required("metadata.annotations[kubernetes.io/service-account.name]")]
    if kind == "kubernetes.io/basic-auth":
        keys = ("username", "password")
        return [] if any(key in data for key in keys) else [required(f"data[{key}]") for key in keys]
    missing = [required(f"data[{key}]") for key in _NEEDED_KEYS.get(kind, ()) if key not in data]
    if missing or kind not in {"kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson"}:
        return missing
    return _json_object(f"data[{_NEEDED_KEYS[kind][0]}]", data[_NEEDED_KEYS[kind][0]])


def _json_object(path: str, text: str) -> list[Cause]:
    try:
        found = go_json.parse(base64.b64decode(text).decode())
    except (go_json.JSONError, UnicodeDecodeError) as error:
        told = str(error) if isinstance(error, go_json.JSONError) else "invalid UTF-8"
        return [invalid_value(path, "<secret contents redacted>", told)]
    if isinstance(found, dict):
        return []
    kind = "array" if isinstance(found, list) else "string"
    text = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    return [invalid_value(path, "<secret contents redacted>", text)]


def lease(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a Lease."""
    del old, subresource
    spec = part(new, "spec")
    causes = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        causes.append(invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        causes.append(invalid_value("spec.leaseTransitions", transitions, NEGATIVE))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        text = "may only be specified if `strategy` is defined"
        causes.append(forbidden_field("spec.preferredHolder", text))
    return causes


def api_service(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for an APIService, whose name must be `version.group`."""
    del old
    if subresource == "status":
        return []
    spec = part(new, "spec")
    group, version, service = spec.get("group", ""), spec.get("version", ""), spec.get("service")
    name, wanted = part(new, "metadata").get("name", ""), f"{version}.{group}"
    causes: list[Cause] = []
    if name != wanted and not names.path_segment(name):
        text = f'must be `spec.version+"."+spec.group`: {quoted(wanted)}'
        causes.append(invalid_value("metadata.name", name, text))
    if not group and version != "v1":
        causes.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    causes += all_invalid("spec.group", group, names.dns_1123_subdomain(group)) if group else []
    causes += all_invalid("spec.version", version, names.dns_1035_label(version))
    for member, most in _PRIORITIES.items():
        if not 0 < spec.get(member, 0) <= most:
            text = f"must be positive and less than {most}"
            causes.append(invalid_value(f"spec.{member}", spec.get(member, 0), text))
    bundle, is_lax = spec.get("caBundle", ""), spec.get("insecureSkipTLSVerify", False)
    if service is None:
        if bundle:
            text = f"{_decoded_size(bundle)} bytes"
            causes.append(invalid_value("spec.caBundle", text, "local APIServices may not have a caBundle"))
        if is_lax:
            text = "local APIServices may not have insecureSkipTLSVerify"
            causes.append(invalid_value("spec.insecureSkipTLSVerify", is_lax, text))
        return causes
    causes += [required(f"spec.service.{part_}") for part_ in ("namespace", "name") if not service.get(part_)]
    causes += webhook_client.port_causes("spec.service.port", service.get("port", 443))
    if is_lax and bundle:
        text = "may not be true if caBundle is present"
        causes.append(invalid_value("spec.insecureSkipTLSVerify", is_lax, text))
    return causes


def priority_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a PriorityClass, whose value cannot change."""
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
    if name.startswith("system-"):
        return _system_class(name, value)
    if value > MAX_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {MAX_PRIORITY}"
        return [forbidden_field("value", text)]
    return one_of("preemptionPolicy", new.get("preemptionPolicy"), ("PreemptLowerPriority", "Never"))


def _system_class(name: str, value: int) -> list[Cause]:
    known = SYSTEM_PRIORITIES.get(name)
    if value == known:
        return []
    text = f"{name} is not a known system priority class"
    if known is not None:
        text = f"value of {name} PriorityClass must be {known}"
    return [forbidden_field("metadata.name", _SYSTEM_CLASS.format(text))]
