"""
Declarations for expressions, derived from a schema: the type of a value, and its maximum size in a request.

Follows: apiserver pkg/cel/common/schemas.go, pkg/cel/limits.go, pkg/cel/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from handloop_sandbox.cel.nodes import escape_member
from handloop_sandbox.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
)
from handloop_sandbox.wire.resource import Schema

REQUEST_BYTES: Final = 3 * 1024 * 1024
_QUOTES: Final = 2
_OF_TIME: Final = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}
_TEXT: Final[Schema] = {"type": "string"}
_METADATA: Final[Schema] = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}
_EMBEDDED: Final = "x-kubernetes-embedded-resource"


@dataclass(frozen=True, slots=True)
class Declared:
    """
    A declared value: its type, its maximum number of elements or characters, and its minimum size as JSON.

    fields maps the real names of an object's members to their declarations. elements declares the values of a
    list or map.
    """

    kind: CelType
    most: int = 0
    fewest_bytes: int = 1
    fields: Mapping[str, Declared] = field(default_factory=dict)
    elements: Declared | None = None

    def all_fields(self) -> dict[str, dict[str, CelType]]:
        """Return the field types of this object and of all nested objects, by type name."""
        found: dict[str, dict[str, CelType]] = {}
        if self.kind.name not in _SIMPLE:
            found[self.kind.name] = {name: entry.kind for name, entry in self.fields.items()}
        for entry in (*self.fields.values(), *([self.elements] if self.elements else ())):
            found.update(entry.all_fields())
        return found


_SIMPLE: Final = frozenset(
    kind.name
    for kind in (BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, list_of(DYN), map_of(DYN, DYN))
)
_PLAIN: Final = {"boolean": Declared(BOOL, 0, 4), "number": Declared(DOUBLE), "integer": Declared(INT)}


def declared(schema: Schema, name: str = "selfType", *, is_root: bool = False) -> Declared | None:
    """Return a schema's declaration, or None if expressions cannot use it. name is the name of its type."""
    if schema.get("x-kubernetes-int-or-string"):
        return Declared(DYN, _characters(schema))
    if is_root:
        schema = _with_metadata(schema)
    kind = schema.get("type")
    if kind == "array":
        return _list(schema, name)
    if kind == "object":
        return _object(schema, name)
    return _string(schema) if kind == "string" else _PLAIN.get(str(kind))


def _with_metadata(schema: Schema) -> Schema:
    properties = schema.get("properties") or {}
    metadata = properties.get("metadata") or {}
    own = metadata.get("properties") or {}
    needed = [properties.get("kind"), properties.get("apiVersion"), own.get("name"), own.get("generateName")]
    if metadata.get("type") == "object" and all((entry or {}).get("type") == "string" for entry in needed):
        return schema
    return {**schema, "properties": {**properties, "kind": _TEXT, "apiVersion": _TEXT, "metadata": _METADATA}}


def _inner(schema: Schema, name: str) -> Declared | None:
    return declared(schema, name, is_root=bool(schema.get(_EMBEDDED)))


def _list(schema: Schema, name: str) -> Declared | None:
    items = schema.get("items")
    elements = _inner(items, f"{name}.@idx") if isinstance(items, dict) else None
    if elements is None:
        return None
    most = _limit(schema, "maxItems", (REQUEST_BYTES - 2) // (elements.fewest_bytes + 1))
    return Declared(list_of(elements.kind), most, 2, elements=elements)


def _object(schema: Schema, name: str) -> Declared | None:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        elements = _inner(values, f"{name}.@elem")
        if elements is None:
            return None
        most = _limit(schema, "maxProperties", (REQUEST_BYTES - 2) // (elements.fewest_bytes + 6))
        return Declared(map_of(STRING, elements.kind), most, 2, elements=elements)
    fields, fewest = {}, 2
    for key, entry in (schema.get("properties") or {}).items():
        written = escape_member(key)
        found = _inner(entry, f"{name}.{written}")
        if found is None:
            continue
        if written is not None:
            fields[key] = found
        if key in (schema.get("required") or ()) and entry.get("default") is None:
            fewest += len(key.encode()) + found.fewest_bytes + 4
    return Declared(CelType(name), 0, fewest, fields)


def _string(schema: Schema) -> Declared:
    form = schema.get("format")
    if form == "byte":
        return Declared(BYTES, _limit(schema, "maxLength", REQUEST_BYTES - _QUOTES), 2)
    if form in _OF_TIME:
        kind, fewest, most = _OF_TIME[form]
        return Declared(kind, most, fewest)
    return Declared(STRING, _characters(schema), 2)


def _characters(schema: Schema) -> int:
    """Return the maximum size of a string in bytes; each character of maxLength counts as four."""
    if schema.get("maxLength") is not None:
        return 4 * _limit(schema, "maxLength", 0)
    values: list[Any] = [] if schema.get("x-kubernetes-int-or-string") else schema.get("enum") or []
    if values:
        return max([len(entry.encode()) for entry in values if isinstance(entry, str)], default=0)
    return REQUEST_BYTES - _QUOTES


def _limit(schema: Schema, member: str, otherwise: int) -> int:
    value = schema.get(member)
    return otherwise if value is None else max(int(value), 0)
