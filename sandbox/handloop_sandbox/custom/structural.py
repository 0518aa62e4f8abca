"""
Prunes custom objects and fills in their defaults, before they are validated.

No object is changed in place.
Follows: apiextensions pkg/apiserver/schema/{pruning,defaulting,objectmeta}.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from handloop_sandbox.kinds import structure, typed
from handloop_sandbox.wire.resource import Schema

_NONE: Final[Schema] = {}
_METADATA: Final[Schema] = {"$ref": "apimachinery.pkg.apis.meta.v1.ObjectMeta"}
_TYPE_META: Final = ("apiVersion", "kind", "metadata")


def prune(schema: Schema | None, obj: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """
    Return a custom object without undeclared members, and the paths of the removed members.

    If schema is None, no member is declared. apiVersion, kind and metadata are always kept.
    """
    unknown: list[str] = []
    pruned = _prune_object(schema or _NONE, obj, "", unknown, root=True)
    return pruned, sorted(unknown)


def default(schema: Schema | None, obj: Mapping[str, Any], *, keep_nulls: bool = False) -> dict[str, Any]:
    """
    Return a custom object with its schema's defaults, and without nulls that the schema does not allow.

    Args: keep_nulls keeps nulls that no default replaces, so that validation refuses them. It is true for
    applied objects, because they bypass the decoder that drops nulls.
    """
    if schema is None:
        return dict(obj)
    rest = {key: value for key, value in obj.items() if key not in _TYPE_META}
    filled: dict[str, Any] = _default_object(schema, rest, keep_nulls=keep_nulls)
    kept = {key: obj[key] for key in _TYPE_META if key in obj}
    return kept | filled


def without_nulls(schema: Schema | None, value: Any) -> Any:
    """Return a value without the nulls that its schema does not allow and that no default replaces."""
    if isinstance(value, list):
        items = structure.items_of(schema or _NONE)
        return value if items is None else [without_nulls(items, entry) for entry in value]
    if not isinstance(value, dict):
        return value
    properties, values = structure.properties(schema or _NONE), structure.value_of(schema or _NONE)
    members = ((name, entry, properties.get(name, values)) for name, entry in value.items())
    return {
        name: entry if member is None else without_nulls(member, entry)
        for name, entry, member in members
        if entry is not None or member is None or member.get("nullable") or member.get("default") is not None
    }


def decode_metadata(obj: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """
    Return a custom object with canonical metadata, and the paths of unknown metadata members.

    Raises: typed.DecodeError if a metadata member has the wrong type.
    """
    report = typed.Report()
    metadata = obj.get("metadata")
    decoded = typed.decode(_METADATA, {} if metadata is None else metadata, report)
    return {**obj, "metadata": decoded}, [f"metadata.{path}" for path in report.unknown]


def has_unknown(schema: Schema, value: Any) -> bool:
    """Return whether a value has members that its schema does not declare."""
    unknown: list[str] = []
    _prune(schema, value, "", unknown)
    return bool(unknown)


def _prune(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        embedded = bool(schema.get("x-kubernetes-embedded-resource"))
        return _prune_object(schema, value, path, unknown, root=embedded)
    if isinstance(value, list):
        items = structure.items_of(schema)
        if items is None:
            return value if _preserves(schema) else _unknown_items(value, path, unknown)
        return [_prune(items, entry, f"{path}[{index}]", unknown) for index, entry in enumerate(value)]
    return value


def _unknown_items(value: list[Any], path: str, unknown: list[str]) -> list[Any]:
    return [_prune(_NONE, entry, f"{path}[{index}]", unknown) for index, entry in enumerate(value)]


def _prune_object(
    schema: Schema, value: Mapping[str, Any], path: str, unknown: list[str], *, root: bool
) -> dict[str, Any]:
    properties = structure.properties(schema)
    values = structure.value_of(schema)
    preserving = _preserves(schema)
    result: dict[str, Any] = {}
    for name, entry in value.items():
        where = f"{path}.{name}" if path else name
        member = properties.get(name)
        if root and name in _TYPE_META:
            result[name] = entry
        elif member is not None:
            result[name] = _prune(member, entry, where, unknown)
        elif values is not None:
            result[name] = entry if not values else _prune(values, entry, where, unknown)
        elif preserving:
            result[name] = entry
        else:
            unknown.append(where)
    return result


def _preserves(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def _default(schema: Schema, value: Any, *, keep_nulls: bool) -> Any:
    if isinstance(value, dict):
        return _default_object(schema, value, keep_nulls=keep_nulls)
    if isinstance(value, list):
        items = structure.items_of(schema)
        return value if items is None else [_default(items, entry, keep_nulls=keep_nulls) for entry in value]
    return value


def _default_object(schema: Schema, value: Mapping[str, Any], *, keep_nulls: bool) -> dict[str, Any]:
    properties = structure.properties(schema)
    values = structure.value_of(schema)
    result: dict[str, Any] = {}
    for name, entry in value.items():
        member = properties.get(name, values)
        if member is None:
            result[name] = entry
        elif entry is not None or member.get("nullable") or (keep_nulls and member.get("default") is None):
            result[name] = _default(member, entry, keep_nulls=keep_nulls)
    for name, member in properties.items():
        if name not in result and member.get("default") is not None:
            result[name] = _default(member, copy.deepcopy(member["default"]), keep_nulls=keep_nulls)
    return result
