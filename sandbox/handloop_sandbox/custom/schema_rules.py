"""
Validates a custom resource's schema.

The schema must be structural, its lists and maps must be declared consistently, its defaults must be valid,
and its validation rules must be well-formed.

Follows: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceDefinitionOpenAPISchema), pkg/apiserver/schema/defaulting/validation.go.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.custom import cel_rules, embedded, schema, structural
from handloop_sandbox.custom.expression_rules import expression_causes, what_is_wrong
from handloop_sandbox.custom.structural_rules import children, junctors, structural_causes
from handloop_sandbox.wire import go_regexp
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import Object, entries, part
from handloop_sandbox.wire.status import Cause

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_KEY_DEFAULT: Final = (
    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
)
_KEY_NULLABLE: Final = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
_UNSUPPORTED: Final = ("definitions", "dependencies", "patternProperties", "additionalItems", "id", "$ref")
_NOT_EVEN: Final = (*(f".{name}" for name in _UNSUPPORTED), ".items")
"""If a schema uses one of these keywords, its structure, defaults and validation rules are not checked."""


def schema_causes(path: str, schema: Object) -> list[Cause]:
    """Return the errors in a version's schema."""
    found = _extensions(path, schema)
    if any(cause.message.startswith("Forbidden") and cause.field.endswith(_NOT_EVEN) for cause in found):
        return found
    wrong = structural_causes(path, schema) or default_causes(path, schema)
    return wrong + found + expression_causes(path, schema, found, is_compiled=not wrong)


def _pattern(path: str, schema: Object) -> list[Cause]:
    pattern = schema.get("pattern", "")
    try:
        go_regexp.check(pattern)
    except go_regexp.PatternError as error:
        text = f"must be a valid regular expression, but isn't: {error}"
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
    if isinstance(schema.get("items"), list):
        causes.append(forbidden_field(f"{path}.items", "items must be a schema object and not an array"))
    if schema.get("$schema"):
        root = path.partition("openAPIV3Schema")
        causes.append(invalid_value("".join(root[:2]), "", "OpenAPIV3Schema 'schema' is not supported"))
    if part(schema, "properties") and schema.get("additionalProperties", True) is not True:
        text = "additionalProperties and properties are mutual exclusive"
        causes.append(forbidden_field(f"{path}.additionalProperties", text))
    kind = schema.get("type", "")
    if kind and kind not in TYPES:
        causes.append(not_supported(f"{path}.type", kind, TYPES))
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        causes.append(forbidden_field(f"{path}.type", text))
    causes += _pattern(path, schema) + _lists(path, schema) + _maps(path, schema)
    for below, child, _ in children(path, schema):
        causes += _extensions(below, child)
    for below, child in junctors(path, schema):
        causes += _extensions(below, child)
    return causes


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
    return causes + (_set_items(path, schema) if list_kind == "set" else [])


def _set_items(path: str, schema: Object) -> list[Cause]:
    """Return the errors in the item schema of a set, whose items must be scalar or atomic, and not null."""
    items, causes = part(schema, "items"), []
    if items.get("nullable"):
        text = "cannot be nullable when x-kubernetes-list-type is set"
        causes.append(forbidden_field(f"{path}.items.nullable", text))
    for kind, name in (("object", "x-kubernetes-map-type"), ("array", "x-kubernetes-list-type")):
        how = items.get(name)
        if items.get("type") == kind and how != "atomic" and (kind == "object" or how is not None):
            text = "must be atomic as item of a list with x-kubernetes-list-type=set"
            causes.append(invalid_value(f"{path}.items.{name}", how, text))
    return causes


def _maps(path: str, schema: Object) -> list[Cause]:
    map_kind, kind = schema.get("x-kubernetes-map-type"), schema.get("type", "")
    causes: list[Cause] = []
    if map_kind is not None and kind != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        at = f"{path}.type"
        causes.append(invalid_value(at, kind, text) if kind else required(at, text))
    if map_kind is not None and map_kind not in {"granular", "atomic"}:
        causes.append(not_supported(f"{path}.x-kubernetes-map-type", map_kind, ("atomic", "granular")))
    return causes


def _map_keys(path: str, schema: Object, keys: Any) -> list[Cause]:
    at, causes = f"{path}.x-kubernetes-list-map-keys", []
    if not keys:
        causes.append(required(at, "must not be empty if x-kubernetes-list-type is map"))
    if schema.get("items") is None:
        return [*causes, required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")]
    items = part(schema, "items")
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        causes.append(invalid_value(f"{path}.items.type", items.get("type", ""), text))
    properties, needed = part(items, "properties"), entries(items, "required")
    for key in dict.fromkeys(keys):
        if key in properties:
            causes += _map_key(f"{path}.items.properties[{key}]", properties[key], is_needed=key in needed)
    if any(key not in properties for key in keys):
        causes.append(invalid_value(at, list(keys), "entries must all be names of item properties"))
    if len(set(keys)) < len(keys):
        causes.append(invalid_value(at, list(keys), "must not contain duplicate entries"))
    return causes


def _map_key(path: str, schema: Object, *, is_needed: bool) -> list[Cause]:
    causes = []
    kind = schema.get("type", "")
    if kind in ("array", "object"):
        text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        causes.append(invalid_value(f"{path}.type", kind, text))
    if schema.get("nullable"):
        causes.append(forbidden_field(f"{path}.nullable", _KEY_NULLABLE))
    if not is_needed and schema.get("default") is None:
        causes.append(required(f"{path}.default", _KEY_DEFAULT))
    return causes


def default_causes(path: str, root: Object) -> list[Cause]:
    """Return the errors in a schema's defaults."""
    causes = _own(path, root)
    for below, child, _ in children(path, root):
        name = below.removeprefix(f"{path}.properties[").removesuffix("]")
        if name in {"apiVersion", "kind", "metadata"}:
            text = f"must not be set in top-level {name}"
            causes += [forbidden_field(f"{below}.default", text)] if "default" in child else []
        else:
            causes += _below(below, child)
    return causes


def _below(path: str, node: Object) -> list[Cause]:
    causes = _own(path, node)
    for below, child, _ in children(path, node):
        causes += _below(below, child)
    return causes


def _own(path: str, node: Object) -> list[Cause]:
    value = node.get("default")
    if value is None:
        return []
    at = f"{path}.default"
    if node.get("x-kubernetes-int-or-string"):
        return []
    try:
        wrong = schema.validate(node, value)
        for where, resource in embedded.found(node, value):
            wrong += embedded.type_causes(where, resource)
        # As in Kubernetes, oldSelf is the default, too.
        wrong = wrong or cel_rules.check(node, value, value, judge=what_is_wrong).causes
    except go_regexp.PatternError:
        return []  # _pattern has already reported the pattern
    causes = [cause._replace(field=_field(at, cause.field)) for cause in wrong]
    if structural.has_unknown(node, value):
        causes.append(invalid_value(at, value, "must not have unknown fields"))
    return causes


def _field(at: str, field: str) -> str:
    return at if field in ("", "<nil>") else f"{at}.{field.removeprefix('.')}"
