"""
Lists that Go never omits and nobody ever sees empty: in protobuf an empty list is none, shown as null.

Definitions of custom resources are stored as JSON and keep theirs. Follows: k8s.io/api generated.proto.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from handloop.sandbox.kinds import structure
from handloop.sandbox.kinds.structure import Omission
from handloop.sandbox.wire.resource import Schema, ServedResource

_Path = tuple[str, ...]
_KEPT_AS_JSON: Final = "apiextensions.k8s.io"
_DEEPEST: Final = 4


def as_stored(resource: ServedResource, obj: dict[str, Any]) -> dict[str, Any]:
    """An object with null for the lists that are empty and never omitted, outside of other lists."""
    for path in _paths(resource):
        if _at(obj, path) == []:
            obj = _with_null(obj, path)
    return obj


@lru_cache(maxsize=512)
def _paths(resource: ServedResource) -> tuple[_Path, ...]:
    if resource.custom or resource.schema is None or resource.group == _KEPT_AS_JSON:
        return ()
    return tuple(_lists(resource.schema, ()))


def _lists(schema: Schema, path: _Path) -> list[_Path]:
    found: list[_Path] = []
    for name, child in structure.properties(schema).items():
        kind = structure.type_of(child)
        if kind == "array" and structure.omission(child) is Omission.NEVER:
            found.append((*path, name))
        elif kind == "object" and name != "metadata" and len(path) < _DEEPEST:
            found += _lists(child, (*path, name))
    return found


def _at(value: Any, path: _Path) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _with_null(obj: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    first, *rest = path
    return {**obj, first: _with_null(obj[first], tuple(rest)) if rest else None}
