"""
Reads OpenAPI schemas. Only the schemas of built-in kinds contain references.

The generator adds its own keys to built-in schemas: `x-omit` to a property ("pointer", "never"; see
`Omission`), `x-shape` to a few types that OpenAPI cannot describe (see `Shape`), `x-go` if Go has a named
type that is not a struct (`v1.ServiceType`), and `x-in` to a property of an inlined struct (`VolumeSource`).
Follows: k8s.io/kube-openapi pkg/schemaconv/proto_models.go and apiextensions schema/structural.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from handloop_sandbox.kinds.kind_table import named_schema
from handloop_sandbox.wire.resource import Schema

TYPE_NAMES: Final = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
"""The schema types of decoded JSON values, except for null."""
_EMPTY: Mapping[str, Schema] = {}
# id of a reference node -> the node and its resolved schema; a node that is alive has a unique id
_RESOLVED: dict[int, tuple[Schema, Schema]] = {}


class Omission(StrEnum):
    """How Go's encoder handles a member's zero value."""

    OMITEMPTY = "omitempty"  # "", 0, false, [], {} and null are omitted
    POINTER = "pointer"  # null is omitted, but zero is a value
    NEVER = "never"  # zero is encoded: "", 0, false, {} for a struct, null for a list, map or time


class Shape(StrEnum):
    """The special types, whose JSON differs from their schema."""

    PLAIN = ""
    TIME = "time"  # RFC 3339 with seconds, or null
    MICRO_TIME = "micro-time"  # RFC 3339 with microseconds, or null
    DURATION = "duration"
    QUANTITY = "quantity"  # a string or a number, stored as a canonical string
    INT_OR_STRING = "int-or-string"
    RAW = "raw"  # any JSON, stored unchanged


def resolve(schema: Schema) -> Schema:
    """
    Return the schema that a node refers to, or the node itself if it is not a reference.

    The node's own keys override those of the schema.
    """
    if "$ref" not in schema and "allOf" not in schema:
        return schema
    known = _RESOLVED.get(id(schema))
    if known is None or known[0] is not schema:
        found = _target(schema)
        if found is schema:
            return schema
        known = _RESOLVED[id(schema)] = (schema, found)
    return known[1]


def _target(schema: Schema) -> Schema:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    target = named_schema(reference)
    if target is None:
        return schema
    own = {key: value for key, value in schema.items() if key != "$ref"}
    return {**target, **own} if own else target


def type_of(schema: Schema) -> str:
    """Return `object`, `array`, `string`, `integer`, `number`, `boolean`, or "" if any type is allowed."""
    found = resolve(schema)
    if shape_of(found) in {Shape.QUANTITY, Shape.INT_OR_STRING, Shape.RAW}:
        return ""
    name = found.get("type", "")
    return name if isinstance(name, str) else ""


def shape_of(schema: Schema) -> Shape:
    """Return the special type of a schema, or PLAIN."""
    found = resolve(schema)
    if found.get("x-kubernetes-int-or-string"):
        return Shape.INT_OR_STRING
    return Shape(found.get("x-shape", ""))


def properties(schema: Schema) -> Mapping[str, Schema]:
    """Return the declared members of an object."""
    found = resolve(schema).get("properties")
    return found if isinstance(found, dict) else _EMPTY


def value_of(schema: Schema) -> Schema | None:
    """Return the schema of a map's values, or None if the type is not a map."""
    found = resolve(schema).get("additionalProperties")
    return found if isinstance(found, dict) else {} if found is True else None


def property_of(schema: Schema, name: str) -> Schema | None:
    """Return the declared schema of a member, or else the schema of the map's values, or None."""
    return properties(schema).get(name) or value_of(schema)


def member_path(schema: Schema, path: str, name: str) -> str:
    """Return the field path of a member: `spec.a`, or `spec.map[a]` for a map key."""
    if value_of(schema) is not None and name not in properties(schema):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def items_of(schema: Schema) -> Schema | None:
    """Return the schema of a list's elements."""
    found = resolve(schema).get("items")
    return found if isinstance(found, dict) else None


def required(schema: Schema) -> tuple[str, ...]:
    """Return the required members."""
    return tuple(resolve(schema).get("required", ()))


def is_struct(schema: Schema) -> bool:
    """Return whether the type is an object with declared members, not a map or a value of any type."""
    found = resolve(schema)
    return type_of(found) == "object" and "additionalProperties" not in found


def list_type(schema: Schema) -> str:
    """Return how the elements of a list are identified: `atomic`, `set` or `map`."""
    return str(resolve(schema).get("x-kubernetes-list-type", "atomic"))


def map_keys(schema: Schema) -> tuple[str, ...]:
    """Return the members that identify an element in a list of type `map`."""
    return tuple(resolve(schema).get("x-kubernetes-list-map-keys", ()))


def map_type(schema: Schema) -> str:
    """Return `granular` if the members of an object can have different field managers, else `atomic`."""
    return str(resolve(schema).get("x-kubernetes-map-type", "granular"))


def merge_key(schema: Schema) -> str | None:
    """Return the member by which a strategic merge patch matches list elements."""
    found = resolve(schema).get("x-kubernetes-patch-merge-key")
    return found if isinstance(found, str) else None


def patch_strategy(schema: Schema) -> tuple[str, ...]:
    """Return the strategies that merge patches use for a member: `merge`, `replace` or `retainKeys`."""
    found = resolve(schema).get("x-kubernetes-patch-strategy", "")
    return tuple(part for part in str(found).split(",") if part)


def is_preserving(schema: Schema) -> bool:
    """Return whether undeclared members are kept."""
    found = resolve(schema)
    return bool(found.get("x-kubernetes-preserve-unknown-fields")) or shape_of(found) is Shape.RAW


def omission(schema: Schema) -> Omission:
    """Return how Go's encoder handles this property's zero value. Custom resources keep all values."""
    return Omission(schema.get("x-omit", "omitempty"))


def zero_of(schema: Schema) -> Any:
    """Return the zero value of a member that is encoded even if it is absent."""
    found = resolve(schema)
    shape = shape_of(found)
    if shape is not Shape.PLAIN:
        return {Shape.QUANTITY: "0", Shape.INT_OR_STRING: 0}.get(shape)
    if found.get("type") == "object":
        return {} if is_struct(found) else None
    if found.get("format") == "byte":
        return None
    return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(found.get("type", ""))


def metadata_schema() -> Schema:
    """Return the schema of ObjectMeta, which every kind has but custom resources do not declare."""
    return named("apimachinery.pkg.apis.meta.v1.ObjectMeta")


def reference_of(schema: Schema) -> str:
    """Return the name of the type that a node refers to, or "" if the node is not a reference."""
    found = schema.get("$ref", "")
    return found if isinstance(found, str) else ""


def named(name: str) -> Schema:
    """
    Return the built-in type with this name, such as `api.core.v1.Pod`.

    Raises: LookupError if it is unknown.
    """
    found = named_schema(name)
    if found is None:
        raise LookupError(f"kinds.json has no schema {name}")
    return found
