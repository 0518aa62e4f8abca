"""
Pairs the values in an object with their old values, and detects which ones are unchanged.

Errors about unchanged values are dropped (ratcheting), so that an update can keep values that a newer schema
rejects.
Follows: apiserver pkg/cel/common/equality.go (CorrelatedObject), apiextensions
pkg/apiserver/validation/ratcheting.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handloop_sandbox.kinds import structure
from handloop_sandbox.wire.resource import Schema

ABSENT: Final[Any] = object()
"""Stands in for the old value if the new value has no counterpart in the old object."""


def member(old: Any, name: str) -> Any:
    """Return a member of an old value, or ABSENT if it does not exist."""
    return old.get(name, ABSENT) if isinstance(old, dict) else ABSENT


def elements(schema: Schema, old: Any) -> Mapping[tuple[str, ...], Any]:
    """Return the elements of an old list by their `identity`, or {} if the list is not of type map."""
    if structure.list_type(schema) != "map" or not isinstance(old, list):
        return {}
    keys = structure.map_keys(schema)
    return {identity(entry, keys): entry for entry in old if isinstance(entry, dict)}


def identity(entry: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the key values that identify an element of a list of type map."""
    return tuple(repr(entry.get(key)) for key in keys) if isinstance(entry, dict) else ()


def is_unchanged(schema: Schema, value: Any, old: Any) -> bool:
    """
    Return whether a value equals its old value.

    The order of a list of type map is ignored. An object with members that the schema does not declare counts
    as changed.
    """
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and all(
            declared is not None and is_unchanged(declared, entry, old[name])
            for name, entry in value.items()
            for declared in (structure.property_of(schema, name),)
        )
    if not isinstance(value, list) or not isinstance(old, list):
        return type(value) is type(old) and bool(value == old)
    items = structure.items_of(schema) or {}
    if structure.list_type(schema) != "map":
        return len(value) == len(old) and all(map(lambda new, was: is_unchanged(items, new, was), value, old))
    keys, before = structure.map_keys(schema), elements(schema, old)
    return len(value) == len(old) and all(
        is_unchanged(items, entry, before.get(identity(entry, keys), ABSENT)) for entry in value
    )
