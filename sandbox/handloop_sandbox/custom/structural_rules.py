"""
Checks that a schema is structural.

Every level must have a type, and allOf, anyOf, oneOf and not must contain only checks of values.

Follows: apiextensions-apiserver pkg/apiserver/schema/validation.go (ValidateStructural).
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.wire.causes import forbidden_field, invalid_value, required
from handloop_sandbox.wire.field_rules import Object, part
from handloop_sandbox.wire.status import Cause

_EMPTY_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_EMBEDDED: Final = (
    "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
)
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_METADATA: Final = (
    "must not specify anything other than name and generateName, but metadata is implicitly specified"
)
_NESTED: Final = {
    "additionalProperties": "undefined",
    "default": "undefined",
    "description": "empty",
    "nullable": "false",
    "title": "empty",
    "type": "empty",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-validations": "empty",
}
"""The members that must be unset within allOf, anyOf, oneOf and not, and how the error describes "unset"."""


def structural_causes(path: str, schema: Object) -> list[Cause]:
    """Return the errors that prevent a schema from being structural, sorted by field and message."""
    return sorted(_structural(path, schema, "root"), key=lambda cause: f"{cause.field}: {cause.message}")


def children(path: str, schema: Object) -> list[tuple[str, Object, str]]:
    """Return (path, schema, "item" or "field") for each schema directly below the given one."""
    found: list[tuple[str, Object, str]] = []
    if isinstance(schema.get("items"), dict):
        found.append((f"{path}.items", schema["items"], "item"))
    for name, child in sorted(part(schema, "properties").items()):
        found.append((f"{path}.properties[{name}]", child, "field"))
    if isinstance(schema.get("additionalProperties"), dict):
        found.append((f"{path}.additionalProperties", schema["additionalProperties"], "field"))
    return found


def junctors(path: str, schema: Object) -> list[tuple[str, Object]]:
    """Return the schemas in a schema's allOf, anyOf, oneOf and not, with their paths."""
    found = [
        (f"{path}.{name}[{index}]", entry)
        for name in ("allOf", "anyOf", "oneOf")
        for index, entry in enumerate(schema.get(name) or ())
    ]
    return [*found, (f"{path}.not", schema["not"])] if isinstance(schema.get("not"), dict) else found


def _structural(path: str, schema: Object, level: str) -> list[Cause]:
    causes: list[Cause] = []
    kind = schema.get("type", "")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if kind == "array" and schema.get("items") is None:
        causes.append(required(f"{path}.items", "must be specified"))
    if not kind and not free:
        causes.append(required(f"{path}.type", _EMPTY_TYPE[level]))
    if level == "root":
        causes += _root(path, schema)
    if schema.get("x-kubernetes-embedded-resource"):
        causes += _embedded(path, schema)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        causes.append(invalid_value(where, False, "must be true or undefined"))
    for below, child in _valued(path, schema):
        causes += _nested(below, child, is_root=level == "root")
    for below, child, kind_of in children(path, schema):
        causes += _structural(below, child, kind_of)
    return causes


def _root(path: str, schema: Object) -> list[Cause]:
    causes: list[Cause] = []
    kind = schema.get("type", "")
    if schema.get("additionalProperties"):
        causes.append(forbidden_field(f"{path}.additionalProperties", "must not be used at the root"))
    if kind and kind != "object":
        causes.append(invalid_value(f"{path}.type", kind, "must be object at the root"))
    if schema.get("nullable"):
        causes.append(forbidden_field(f"{path}.nullable", "nullable cannot be true at the root"))
    properties = part(schema, "properties")
    causes += _metadata(path, properties)
    at = f"{path}.properties[metadata]"
    for below, child in junctors(path, schema):
        if "metadata" in part(child, "properties") and "metadata" not in properties:
            causes.append(required(at, f"because it is defined in {below}.properties[metadata]"))
    return causes


def _metadata(path: str, properties: Object) -> list[Cause]:
    causes = [
        invalid_value(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
        for name in ("kind", "apiVersion")
        if name in properties and properties[name].get("type") != "string"
    ]
    metadata = properties.get("metadata")
    if metadata is None:
        return causes
    at = f"{path}.properties[metadata]"
    if metadata.get("type") != "object":
        causes.append(invalid_value(f"{at}.type", metadata.get("type", ""), "must be object"))
    declared = set(part(metadata, "properties")) - {"name", "generateName"}
    others = {name for name, value in metadata.items() if value} - {"type", "properties", "description"}
    return [*causes, forbidden_field(at, _METADATA)] if declared or others else causes


def _embedded(path: str, schema: Object) -> list[Cause]:
    causes: list[Cause] = []
    kind = schema.get("type", "")
    if not part(schema, "properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        causes.append(required(f"{path}.properties", _EMBEDDED))
    text = "must be object if x-kubernetes-embedded-resource is true"
    if kind and kind != "object":
        causes.append(invalid_value(f"{path}.type", kind, text))
    elif not kind:
        causes.append(required(f"{path}.type", text))
    return causes


def _valued(path: str, schema: Object) -> list[tuple[str, Object]]:
    """Return the junctors to check. Skip those in which an int-or-string may declare its types."""
    skipped: set[str] = set()
    if schema.get("x-kubernetes-int-or-string"):
        first: Any = (schema.get("allOf") or [{}])[0]
        if schema.get("anyOf") == _INT_OR_STRING:
            skipped = {f"{path}.anyOf[0]", f"{path}.anyOf[1]"}
        elif first.get("anyOf") == _INT_OR_STRING:
            skipped = {f"{path}.allOf[0]"}
    return [(below, child) for below, child in junctors(path, schema) if below not in skipped]


def _nested(path: str, schema: Object, *, is_root: bool = False) -> list[Cause]:
    causes = [
        forbidden_field(f"{path}.{name}", f"must be {state} to be structural")
        for name, state in _NESTED.items()
        if schema.get(name)
    ]
    if is_root and "metadata" in part(schema, "properties"):
        where = f"{path}.properties[metadata]"
        causes.append(forbidden_field(where, "must not be specified in a nested context"))
    for below, child in junctors(path, schema):
        causes += _nested(below, child, is_root=is_root)
    for below, child, _ in children(path, {**schema, "additionalProperties": None}):
        causes += _nested(below, child)
    return causes
