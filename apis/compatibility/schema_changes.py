"""Compares two schemas of one version, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from handloop.apis.compatibility import property_rules
from handloop.apis.compatibility.finding import BREAKS, WARNS, Finding
from handloop.apis.compatibility.property_rules import PRESERVE, Schema, kind_of

_ENVELOPE: Final = ("apiVersion", "kind", "metadata")


def schema_changes(old: Schema, new: Schema, path: str = "") -> Iterator[Finding]:
    """Compare two schemas, and return the findings from the outermost field inwards."""
    yield from property_rules.changes(path, old, new)
    before, after = _fields(old, path), _fields(new, path)
    yield from _about_shape(old, new, path)
    for name, schema in before.items():
        if name in after:
            yield from schema_changes(schema, after[name], _below(path, name))
    for step, inner, there in _inside(old, new):
        yield from schema_changes(inner, there, f"{path}{step}")


def lost_paths(schema: Schema, other: Schema, path: str = "") -> Iterator[str]:
    """Return the outermost fields of a schema that another schema would erase."""
    if other.get(PRESERVE):
        return
    after = _fields(other, path)
    is_map = isinstance(other.get("additionalProperties"), Mapping)
    for name, inner in _fields(schema, path).items():
        if name in after:
            yield from lost_paths(inner, after[name], _below(path, name))
        elif not is_map:
            yield _below(path, name)
    for step, inner, there in _inside(schema, other):
        yield from lost_paths(inner, there, f"{path}{step}")


def _inside(schema: Schema, other: Schema) -> Iterator[tuple[str, Schema, Schema]]:
    """Yield `[]` with the item schemas of two lists, or `{}` with the value schemas of two maps."""
    for key, step in (("items", "[]"), ("additionalProperties", "{}")):
        inner, there = schema.get(key), other.get(key)
        if isinstance(inner, Mapping) and isinstance(there, Mapping):
            yield step, inner, there


def _fields(schema: Schema, path: str) -> Mapping[str, Schema]:
    fields: Mapping[str, Schema] = schema.get("properties") or {}
    return fields if path else {name: part for name, part in fields.items() if name not in _ENVELOPE}


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _about_shape(old: Schema, new: Schema, path: str) -> Iterator[Finding]:
    """Return findings about removed fields, and about structs that become maps or the other way round."""
    before, after = _fields(old, path), _fields(new, path)
    if before and kind_of(new) == "map":
        yield Finding("shape", BREAKS, path, "object", "map", "changed from a struct to a map")
        return
    if after and kind_of(old) == "map":
        text = "changed from a map to a struct: entries with other names are erased"
        yield Finding("shape", BREAKS, path, "map", "object", text)
        return
    if kind_of(new) not in ("object", "anything"):
        return  # the change of type is already reported
    gone = [name for name in before if name not in after]
    for name in gone:
        schema = before[name]
        if new.get(PRESERVE):
            text = "is no longer in the schema, but the server still keeps it"
            yield Finding("field", WARNS, _below(path, name), kind_of(schema), None, text)
            continue
        came = [
            other for other, its in after.items() if other not in before and kind_of(its) == kind_of(schema)
        ]
        renamed = f"; if {came[0]} is its new name, the values are not copied there" if came else ""
        text = f"was removed: stored values are silently erased at the next write{renamed}"
        yield Finding("field", BREAKS, _below(path, name), kind_of(schema), None, text)
