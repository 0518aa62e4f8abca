"""
The types that determine how fields are owned and merged, compiled from schemas.

Types specify which lists and maps are atomic, and which have entries that are owned and merged separately.
If a schema does not specify a type, its values can be scalars, lists and maps.
Follows: kube-openapi pkg/schemaconv/openapi.go and structured-merge-diff schema/elements.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from handloop_sandbox.kinds.structure import (
    Omission,
    Shape,
    items_of,
    map_keys,
    map_type,
    metadata_schema,
    omission,
    properties,
    resolve,
    shape_of,
    zero_of,
)
from handloop_sandbox.patches.field_set import key_element, value_element
from handloop_sandbox.wire.resource import Schema, ServedResource

SCALAR_TYPES = {"integer": "numeric", "number": "numeric", "boolean": "boolean", "string": "string"}
UNTYPED = "untyped"


class ElementError(Exception):
    """Raised when a list or map entry does not fit its type; for example, if it has no keys."""


class Atom(NamedTuple):
    """The scalar, list and map type that a value can have. A type that is not allowed is None."""

    scalar: str | None = None
    list: ListType | None = None
    map: MapType | None = None

    def of(self, value: Any) -> Atom:
        """Return only the type that fits a value. For null and values of a wrong type, return all types."""
        if isinstance(value, dict):
            return Atom(map=self.map) if self.map else self
        if isinstance(value, list):
            return Atom(list=self.list) if self.list else self
        if value is not None and self.scalar:
            return Atom(scalar=self.scalar)
        return self


class MapType:
    """
    The type of an object: its declared members, and a common type for all others, if others are allowed.

    The members' types are compiled on first use, because types can refer to themselves.
    """

    __slots__ = ("_children", "_element", "_preserve", "_schemas", "atomic")

    def __init__(
        self, schemas: Mapping[str, Schema], element: Schema | None, *, atomic: bool, preserve: bool = False
    ) -> None:
        self.atomic = atomic
        self._schemas = schemas
        self._element = element
        self._preserve = preserve
        self._children: dict[str, Atom] = {}

    def declares(self, name: str) -> bool:
        """Return whether the schema declares this member by name."""
        return name in self._schemas

    def member(self, name: str) -> Atom | None:
        """Return the type of a member, or None if the schema does not allow it."""
        known = self._children.get(name)
        if known is None:
            declared = name in self._schemas
            key = name if declared else ""
            known = self._children.get(key)
            schema = self._schemas[name] if declared else self._element
            if known is None and schema is not None:
                known = self._children[key] = compile_type(schema, preserve=self._preserve)
        return known


class ListType:
    """
    The type of a list: atomic, a set of scalars, or entries that are identified by key members.

    The key members can have defaults.
    """

    __slots__ = ("_atom", "_keys", "_preserve", "_schema", "associative")

    def __init__(
        self, schema: Schema | None, *, associative: bool, keys: tuple[str, ...] = (), preserve: bool = False
    ) -> None:
        self.associative = associative
        self._schema = schema
        self._preserve = preserve
        self._atom: Atom | None = None
        declared = properties(schema) if schema is not None and keys else {}
        self._keys = tuple((key, _default(declared.get(key))) for key in keys)

    @property
    def entry(self) -> Atom:
        """The type of the entries."""
        if self._atom is None:
            self._atom = (
                UNTYPED_ATOM if self._schema is None else compile_type(self._schema, preserve=self._preserve)
            )
        return self._atom

    def element(self, value: Any) -> str:
        """
        Return the path element that identifies an entry.

        Raises: ElementError if the entry has no keys, or if it is not a scalar and the list is a set.
        """
        return self._keyed(value) if self._keys else _set_element(value)

    def _keyed(self, value: Any) -> str:
        if value is None:
            raise ElementError("associative list with keys may not have a null element")
        if not isinstance(value, dict):
            raise ElementError("associative list with keys may not have non-map elements")
        found = {
            key: value.get(key, default) for key, default in self._keys if key in value or default is not None
        }
        if not found:
            names = " ".join(f'"{key}"' for key, _ in self._keys)
            raise ElementError(
                f"associative list with keys has an element that omits all key fields [{names}]"
                " (and doesn't have default values for any key fields)"
            )
        return key_element(found)


def _set_element(value: Any) -> str:
    if isinstance(value, dict):
        raise ElementError("associative list without keys has an element that's a map type")
    if isinstance(value, list):
        raise ElementError("not supported: associative list with lists as elements")
    if value is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return value_element(value)


def _default(schema: Schema | None) -> Any:
    if schema is None:
        return None
    if "default" in schema:
        return schema["default"]
    return zero_of(schema) if omission(schema) is Omission.NEVER else None


DEDUCED_SCHEMA: Schema = {"x-deduced": True}
UNTYPED_ATOM = Atom(UNTYPED, ListType(None, associative=False), MapType({}, {"x-shape": "raw"}, atomic=True))
DEDUCED_ATOM = Atom(UNTYPED, ListType(None, associative=False), MapType({}, DEDUCED_SCHEMA, atomic=False))


def compile_type(schema: Schema, *, preserve: bool = False) -> Atom:
    """Compile a schema. preserve is true if an outer schema sets x-kubernetes-preserve-unknown-fields."""
    found = resolve(schema)
    shape = shape_of(found)
    if schema is DEDUCED_SCHEMA or shape is Shape.RAW:
        return DEDUCED_ATOM if schema is DEDUCED_SCHEMA else UNTYPED_ATOM
    if shape in {Shape.QUANTITY, Shape.TIME, Shape.MICRO_TIME}:
        return Atom(UNTYPED)
    preserve = preserve or found.get("x-kubernetes-preserve-unknown-fields") is True
    match found.get("type", ""):
        case "object":
            return Atom(map=_map_type(found, preserve=preserve))
        case "array":
            return Atom(list=_list_type(found, preserve=preserve))
        case "":
            lists, maps = _list_type(found, preserve=preserve), _map_type(found, preserve=preserve)
            return Atom(UNTYPED, lists, maps)
        case other:
            formatted = other == "string" and found.get("format", "") not in {"", "byte"}
            return Atom(UNTYPED if formatted else SCALAR_TYPES.get(other, UNTYPED))


def _map_type(found: Schema, *, preserve: bool) -> MapType:
    declared = properties(found)
    if found.get("x-kubernetes-embedded-resource"):
        declared = _with_meta(declared)
    others = found.get("additionalProperties")
    element: Schema | None
    if isinstance(others, Mapping):
        element = others
    elif others is True or (others is None and (preserve or not declared)):
        element = DEDUCED_SCHEMA
    else:
        element = None
    return MapType(declared, element, atomic=map_type(found) == "atomic", preserve=preserve)


def _with_meta(declared: Mapping[str, Schema]) -> dict[str, Schema]:
    text: Schema = {"type": "string"}
    return {**declared, "apiVersion": text, "kind": text, "metadata": metadata_schema()}


def _list_type(found: Schema, *, preserve: bool) -> ListType:
    items = items_of(found)
    match found.get("x-kubernetes-list-type"):
        case "set":
            return ListType(items, associative=True, preserve=preserve)
        case "map":
            return ListType(items, associative=True, keys=map_keys(found), preserve=preserve)
        case _:
            return ListType(items, associative=False, preserve=preserve)


@lru_cache(maxsize=256)
def type_of_resource(resource: ServedResource) -> Atom:
    """Return the type of a resource's objects, which is compiled once and cached."""
    if resource.schema is None:
        return DEDUCED_ATOM
    if not resource.custom:
        return compile_type(resource.schema)
    schema = resource.schema
    declared = _with_meta(properties(schema))
    preserve = schema.get("x-kubernetes-preserve-unknown-fields") is True
    element = DEDUCED_SCHEMA if preserve else None
    return Atom(map=MapType(declared, element, atomic=False, preserve=preserve))
