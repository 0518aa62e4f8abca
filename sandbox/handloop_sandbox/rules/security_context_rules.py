"""
Validation rules for the security contexts of pods and containers.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidatePodSecurityContext,
ValidateSecurityContext). Differs: Windows options are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from handloop_sandbox.wire.causes import duplicate, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import Object, entries, part
from handloop_sandbox.wire.status import Cause

_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_RANGE: Final = "must be between 0 and 2147483647, inclusive"
_CHOICES: Final = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("Recursive",),
    "procMount": ("Default", "Unmasked"),
}
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_LONGEST_SYSCTL: Final = 253
_SYSCTL_TEXT: Final = (
    f"must have at most {_LONGEST_SYSCTL} characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)
_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "capabilities": ("add", "drop"),
    "privileged": (),
    "seLinuxOptions": ("user", "role", "type", "level"),
    "windowsOptions": ("gMSACredentialSpecName", "gMSACredentialSpec", "runAsUserName", "hostProcess"),
    "runAsUser": (),
    "runAsGroup": (),
    "runAsNonRoot": (),
    "readOnlyRootFilesystem": (),
    "allowPrivilegeEscalation": (),
    "procMount": (),
    "seccompProfile": ("type", "localhostProfile"),
    "appArmorProfile": ("type", "localhostProfile"),
}
"""The fields of a container's security context, and those of nested types, in Go's order."""


def security_context(path: str, context: Object) -> list[Cause]:
    """Return the errors for the fields that the security contexts of pods and containers have in common."""
    causes = [
        invalid_value(f"{path}.{name}", context[name], _RANGE)
        for name in ("fsGroup", "runAsUser", "runAsGroup")
        if not _is_identity(context.get(name))
    ]
    causes += [
        not_supported(f"{path}.{name}", context[name], supported)
        for name, supported in _CHOICES.items()
        if context.get(name) is not None and context[name] not in supported
    ]
    if (profile := context.get("seccompProfile")) is not None:
        causes += _seccomp(f"{path}.seccompProfile", profile)
    if (profile := context.get("appArmorProfile")) is not None:
        causes += _app_armor(f"{path}.appArmorProfile", profile)
    return causes


def pod_context(path: str, context: Object, spec: Object) -> list[Cause]:
    """Return the validation errors for the security context of a pod with this spec."""
    causes = security_context(path, context)
    causes += [
        invalid_value(f"{path}.supplementalGroups[{index}]", group, _RANGE)
        for index, group in enumerate(entries(context, "supplementalGroups"))
        if not _is_identity(group)
    ]
    settings = [entry.get("name", "") for entry in entries(context, "sysctls")]
    for index, name in enumerate(settings):
        at = f"{path}.sysctls[{index}].name"
        if not name:
            causes.append(required(at))
        elif len(name) > _LONGEST_SYSCTL or not _SYSCTL.fullmatch(name):
            causes.append(invalid_value(at, name, _SYSCTL_TEXT))
        elif name in settings[:index]:
            causes.append(duplicate(at, name))
        if spec.get("hostNetwork") and name.startswith("net."):
            causes.append(invalid_value(at, name, "may not be specified when 'hostNetwork' is true"))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        causes.append(invalid_value(f"{path}.shareProcessNamespace", value=True, detail=text))
    return causes


def container_context(path: str, context: Object) -> list[Cause]:
    """Return the validation errors for a container's security context."""
    causes = security_context(path, context)
    if context.get("allowPrivilegeEscalation") is not False:
        return causes
    if context.get("privileged"):
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        causes.append(invalid_value(path, _as_go(context), text))
    if "CAP_SYS_ADMIN" in entries(part(context, "capabilities"), "add"):
        text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        causes.append(invalid_value(path, _as_go(context), text))
    return causes


def _is_identity(value: Any) -> bool:
    return value is None or 0 <= value < 2**31


def _seccomp(path: str, profile: Object) -> list[Cause]:
    kind, where = profile.get("type", ""), profile.get("localhostProfile")
    causes = _type(path, kind, "seccompProfile")
    if kind == "Localhost" and where is None:
        text = "must be set when seccomp type is Localhost"
        causes.append(required(f"{path}.localhostProfile", text))
    elif kind == "Localhost":
        causes += descending(f"{path}.localhostProfile", str(where))
    elif where is not None:
        text = "can only be set when seccomp type is Localhost"
        shown = {"Type": kind, "LocalhostProfile": where}
        causes.append(invalid_value(f"{path}.localhostProfile", shown, text))
    return causes


def _app_armor(path: str, profile: Object) -> list[Cause]:
    kind, where = profile.get("type", ""), profile.get("localhostProfile")
    causes = _type(path, kind, "appArmorProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost" and not (where and where.strip()):
        causes.append(required(at, "must be set when AppArmor type is Localhost"))
    elif kind == "Localhost" and where and where != where.strip():
        causes.append(invalid_value(at, where, "must not be padded with whitespace"))
    elif kind != "Localhost" and where is not None:
        causes.append(invalid_value(at, where, "can only be set when AppArmor type is Localhost"))
    return causes


def _type(path: str, kind: str, name: str) -> list[Cause]:
    if not kind:
        return [required(f"{path}.type", f"type is required when {name} is set")]
    return [] if kind in _PROFILES else [not_supported(f"{path}.type", kind, _PROFILES)]


def descending(path: str, where: str) -> list[Cause]:
    """Return the validation errors for a path that must be relative and must not contain `..`."""
    if where.startswith("/"):
        return [invalid_value(path, where, "must be a relative path")]
    return not_up(path, where)


def not_up(path: str, where: str) -> list[Cause]:
    """Return the validation errors for a path that must not contain `..`."""
    return [invalid_value(path, where, "must not contain '..'")] if ".." in where.split("/") else []


def _as_go(context: Object) -> dict[str, Any]:
    return {_upper(name): _member(context.get(name), inner) for name, inner in _MEMBERS.items()}


def _member(value: Any, inner: tuple[str, ...]) -> Any:
    if not inner or value is None:
        return value
    return {_upper(name): value.get(name) for name in inner}


def _upper(name: str) -> str:
    return "SELinuxOptions" if name == "seLinuxOptions" else name[:1].upper() + name[1:]
