"""
Validation rules for a container's environment, and for references to fields, resources and keys.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom and the functions
they call).
"""

from __future__ import annotations

import re
from typing import Any, Final

from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import Object, all_invalid, named_by
from handloop_sandbox.wire.status import Cause

_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONE_SOURCE: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_FIELD_PATHS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_ENV_FIELD_PATHS: Final = tuple(
    path for path in _FIELD_PATHS if path not in {"metadata.annotations", "metadata.labels"}
)
_FILE_FIELD_PATHS: Final = tuple(path for path in _FIELD_PATHS if path.startswith("metadata."))
_RESOURCE_FIELDS: Final = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")


def environment_name(name: str) -> list[str]:
    """Return the validation errors for the name of an environment variable."""
    if _ENV_NAME.fullmatch(name):
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    ]


def environment(path: str, found: Any) -> list[Cause]:
    """Return the validation errors for environment variables. Each has either a value or a source."""
    causes: list[Cause] = []
    for index, variable in enumerate(found):
        at = f"{path}[{index}]"
        causes += named_by(f"{at}.name", variable.get("name"), environment_name)
        if variable.get("valueFrom") is not None:
            causes += _value_from(f"{at}.valueFrom", variable)
    return causes


def _value_from(path: str, variable: Object) -> list[Cause]:
    source = variable["valueFrom"]
    given = [name for name in _SOURCES if source.get(name) is not None]
    causes: list[Cause] = []
    if "fieldRef" in given:
        causes += field_causes(f"{path}.fieldRef", source["fieldRef"])
    if "resourceFieldRef" in given:
        causes += resource_causes(f"{path}.resourceFieldRef", source["resourceFieldRef"])
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in given:
            causes += _key_reference(f"{path}.{name}", source[name])
    if not given:
        causes.append(invalid_value(path, "", _ONE_SOURCE))
    elif variable.get("value"):
        causes.append(invalid_value(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        causes.append(invalid_value(path, "", "may not have more than one field specified at a time"))
    return causes


def field_causes(path: str, reference: Object, *, files: bool = False) -> list[Cause]:
    """
    Return the validation errors for a fieldRef.

    If files is true, the reference is in a volume; otherwise, it is in an environment variable.
    """
    allowed = _FILE_FIELD_PATHS if files else _ENV_FIELD_PATHS
    field = reference.get("fieldPath", "")
    if not field:
        return [required(f"{path}.fieldPath")]
    version = reference.get("apiVersion", "v1")
    if version != "v1":
        text = f"error converting fieldPath: unsupported pod version: {version}"
        return [invalid_value(f"{path}.fieldPath", field, text)]
    base, subscript, _ = field.partition("['")
    if subscript and base in {"metadata.annotations", "metadata.labels"}:
        return []
    if base not in _FIELD_PATHS and not base.startswith("spec.host"):
        return [
            invalid_value(
                f"{path}.fieldPath", field, f"error converting fieldPath: field label not supported: {field}"
            )
        ]
    if field in allowed:
        return []
    return [not_supported(f"{path}.fieldPath", field, sorted(allowed))]


def resource_causes(path: str, reference: Object, *, files: bool = False) -> list[Cause]:
    """
    Return the validation errors for a resourceFieldRef.

    If files is true, the reference is in a volume and must name a container.
    """
    resource = reference.get("resource", "")
    if files and not reference.get("containerName"):
        return [required(f"{path}.containerName")]
    if not resource:
        return [required(f"{path}.resource")]
    if resource in _RESOURCE_FIELDS or resource.partition(".")[2].startswith("hugepages-"):
        return []
    return [not_supported(f"{path}.resource", resource, _RESOURCE_FIELDS)]


def _key_reference(path: str, reference: Object) -> list[Cause]:
    name, key = reference.get("name", ""), reference.get("key", "")
    causes = all_invalid(f"{path}.name", name, names.dns_1123_subdomain(name))
    return causes + (config_key_causes(f"{path}.key", key) if key else [required(f"{path}.key")])


def config_key(key: str) -> list[str]:
    """Return the validation errors for a ConfigMap or Secret key, as strings."""
    found = (
        [] if len(key) <= names.MAX_SUBDOMAIN else [f"must be no more than {names.MAX_SUBDOMAIN} characters"]
    )
    if not _CONFIG_KEY.fullmatch(key):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(names.regex_error(text, "[-._a-zA-Z0-9]+", "key.name", "KEY_NAME", "key-name"))
    if key == ".":
        found.append("must not be '.'")
    if key == "..":
        found.append("must not be '..'")
    elif key.startswith(".."):
        found.append("must not start with '..'")
    return found


def config_key_causes(path: str, key: str) -> list[Cause]:
    """Return the validation errors for a ConfigMap or Secret key, as Causes."""
    return all_invalid(path, key, config_key(key))


def environment_from(path: str, found: Any) -> list[Cause]:
    """Return the validation errors for envFrom, which imports variables from ConfigMaps and Secrets."""
    causes: list[Cause] = []
    for index, source in enumerate(found):
        at = f"{path}[{index}]"
        if source.get("prefix"):
            causes += all_invalid(f"{at}.prefix", source["prefix"], environment_name(source["prefix"]))
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            causes += named_by(f"{at}.{name}.name", source[name].get("name"), names.dns_1123_subdomain)
        if not given:
            causes.append(invalid_value(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            causes.append(invalid_value(path, "", "may not have more than one field specified at a time"))
    return causes
