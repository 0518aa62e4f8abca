"""
What the schema of a custom resource may look like: structural, with lists and defaults that make sense.

Follows: apiextensions-apiserver pkg/apiserver/schema/validation.go and
pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionOpenAPISchema).
"""

from __future__ import annotations

import re
from typing import Any, Final

from sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from sandbox.wire.field_rules import Object, entries, part
from sandbox.wire.status import Cause

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_EMPTY_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_KEY_DEFAULT: Final = (
    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
)
_UNSUPPORTED: Final = ("definitions", "dependencies", "patternProperties", "additionalItems", "id", "$ref")


def schema_causes(path: str, schema: Object) -> list[Cause]:
    """Everything wrong with a version's schema."""
    structural = sorted(
        _structural(path, schema, "root"), key=lambda cause: f"{cause.field}: {cause.message}"
    )
    return structural + _extensions(path, schema)


def _children(path: str, schema: Object) -> list[tuple[str, Object, str]]:
    """The schemas below one: path, schema, and whether it is for an item or a field."""
    found: list[tuple[str, Object, str]] = []
    if isinstance(schema.get("items"), dict):
        found.append((f"{path}.items", schema["items"], "item"))
    for name, child in sorted(part(schema, "properties").items()):
        found.append((f"{path}.properties[{name}]", child, "field"))
    if isinstance(schema.get("additionalProperties"), dict):
        found.append((f"{path}.additionalProperties", schema["additionalProperties"], "field"))
    return found


def _structural(path: str, schema: Object, level: str) -> list[Cause]:
    causes: list[Cause] = []
    kind = schema.get("type", "")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if kind == "array" and schema.get("items") is None:
        causes.append(required(f"{path}.items", "must be specified"))
    if level == "root" and schema.get("additionalProperties"):
        causes.append(forbidden_field(f"{path}.additionalProperties", "must not be used at the root"))
    if not kind and not free:
        causes.append(required(f"{path}.type", _EMPTY_TYPE[level]))
    if level == "root" and kind and kind != "object":
        causes.append(invalid_value(f"{path}.type", kind, "must be object at the root"))
    if level == "root":
        causes += _metadata(path, part(schema, "properties"))
    causes += _pattern(path, schema)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        causes.append(invalid_value(where, False, "must be true or undefined"))
    for below, child, kind_of in _children(path, schema):
        causes += _structural(below, child, kind_of)
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
    if declared or others:
        text = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        causes.append(forbidden_field(at, text))
    return causes


def _pattern(path: str, schema: Object) -> list[Cause]:
    pattern = schema.get("pattern")
    if not pattern:
        return []
    try:
        re.compile(pattern)
    except re.error as error:
        text = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
        return [invalid_value(f"{path}.pattern", pattern, text)]
    return []


def _extensions(path: str, schema: Object) -> list[Cause]:
    causes = [
        forbidden_field(f"{path}.{name}", f"{name} is not supported")
        for name in _UNSUPPORTED
        if schema.get(name)
    ]
    if schema.get("uniqueItems"):
        causes.append(
            forbidden_field(
                f"{path}.uniqueItems",
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            )
        )
    if schema.get("additionalProperties") is False:
        causes.append(
            forbidden_field(f"{path}.additionalProperties", "additionalProperties cannot be set to false")
        )
    if part(schema, "properties") and isinstance(schema.get("additionalProperties"), dict):
        text = "additionalProperties and properties are mutual exclusive"
        causes.append(forbidden_field(f"{path}.additionalProperties", text))
    kind = schema.get("type", "")
    if kind and kind not in TYPES:
        causes.append(not_supported(f"{path}.type", kind, TYPES))
    causes += _lists(path, schema) + _default(path, schema)
    for below, child, _ in _children(path, schema):
        causes += _extensions(below, child)
    return causes


def _default(path: str, schema: Object) -> list[Cause]:
    """A default that its own schema would refuse."""
    value, kind = schema.get("default"), schema.get("type", "")
    if value is None or not kind or kind not in TYPES or _fits(value, kind):
        return []
    field = path.rpartition(".")[2].removeprefix("properties[").removesuffix("]")
    shown = _json_name(value)
    text = f'Invalid value: "{shown}": {field} in body must be of type {kind}: "{shown}"'
    return [
        Cause("FieldValueTypeInvalid", text.replace(f"{field} in body", "default in body"), f"{path}.default")
    ]


def _fits(value: Any, kind: str) -> bool:
    expected: tuple[type, ...] = {
        "array": (list,),
        "boolean": (bool,),
        "integer": (int,),
        "number": (int, float),
        "object": (dict,),
        "string": (str,),
    }[kind]
    return isinstance(value, expected) and not (isinstance(value, bool) and kind in {"integer", "number"})


def _json_name(value: Any) -> str:
    kinds = {list: "array", bool: "boolean", int: "integer", float: "number", dict: "object", str: "string"}
    return kinds.get(type(value), "null")


def _lists(path: str, schema: Object) -> list[Cause]:
    kind, list_kind = schema.get("type", ""), schema.get("x-kubernetes-list-type")
    keys = entries(schema, "x-kubernetes-list-map-keys")
    causes: list[Cause] = []
    if list_kind is not None and kind != "array":
        if kind:
            text = "must be array if x-kubernetes-list-type is specified"
            causes.append(invalid_value(f"{path}.type", kind, text))
        else:
            causes.append(required(f"{path}.type", "must be array if x-kubernetes-list-type is specified"))
    if list_kind is not None and list_kind not in {"atomic", "set", "map"}:
        causes.append(not_supported(f"{path}.x-kubernetes-list-type", list_kind, ("atomic", "set", "map")))
    if keys and list_kind != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = f"{path}.x-kubernetes-list-type"
        causes.append(required(at, text) if list_kind is None else invalid_value(at, list_kind, text))
    if list_kind == "map":
        causes += _map_keys(path, schema, keys)
    map_kind = schema.get("x-kubernetes-map-type")
    if map_kind is not None and map_kind not in {"granular", "atomic"}:
        causes.append(not_supported(f"{path}.x-kubernetes-map-type", map_kind, ("atomic", "granular")))
    return causes


def _map_keys(path: str, schema: Object, keys: Any) -> list[Cause]:
    at = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        return [required(at, "must not be empty if x-kubernetes-list-type is map")]
    if schema.get("items") is None:
        return [required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")]
    items = part(schema, "items")
    causes: list[Cause] = []
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        causes.append(invalid_value(f"{path}.items.type", items.get("type", ""), text))
    properties, needed = part(items, "properties"), entries(items, "required")
    for index, key in enumerate(keys):
        if key not in properties:
            text = "entries must all be names of item properties"
            causes.append(invalid_value(f"{at}[{index}]", key, text))
        elif key not in needed and properties[key].get("default") is None:
            causes.append(required(f"{path}.items.properties[{key}].default", _KEY_DEFAULT))
        if key in list(keys)[:index]:
            causes.append(duplicate(f"{at}[{index}]", key))
    return causes
