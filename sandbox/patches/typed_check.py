"""
Where an applied configuration does not fit its type.

Follows: structured-merge-diff typed/validate.go.
"""

from __future__ import annotations

from typing import Any

from handloop.sandbox.patches.field_set import shown
from handloop.sandbox.patches.merge_type import UNTYPED, Atom, ElementError, ListType, MapType
from handloop.sandbox.wire.go_format import go_value


def violations(value: Any, atom: Atom, path: str = "") -> list[str]:
    """Where a value does not fit its type, as `.spec.x: field not declared in schema`."""
    atom = atom.of(value)
    if value is None:
        return []
    if atom.map:
        return _map_violations(value, atom.map, path)
    if atom.scalar:
        return _scalar_violations(value, atom.scalar, path)
    return _list_violations(value, atom.list, path) if atom.list else []


def _map_violations(value: Any, kind: MapType, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [_located(path, f"expected map, got {_described(value)}")]
    found: list[str] = []
    for key, child in value.items():
        member = kind.member(key)
        if member is None:
            return [*found, f"{path}.{key}: field not declared in schema"]
        found += violations(child, member, f"{path}.{key}")
    return found


def _list_violations(value: Any, kind: ListType, path: str) -> list[str]:
    if not isinstance(value, list):
        return [_located(path, f"expected list, got {_described(value)}")]
    found: list[str] = []
    seen: set[str] = set()
    for index, entry in enumerate(value):
        name = f"[{index}]"
        if kind.associative:
            try:
                element = kind.element(entry)
            except ElementError as error:
                return [*found, _located(path, f"element {index}: {error}")]
            name = shown((element,))
            if element in seen:
                found.append(_located(path, f"duplicate entries for key {name}"))
            seen.add(element)
        found += violations(entry, kind.entry, path + name)
    return found


def _scalar_violations(value: Any, scalar: str, path: str) -> list[str]:
    fits = {
        "numeric": isinstance(value, (int, float)) and not isinstance(value, bool),
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        UNTYPED: not isinstance(value, (dict, list)),
    }[scalar]
    if fits:
        return []
    expected = {"numeric": "numeric (int or float)", UNTYPED: "any scalar"}.get(scalar, scalar)
    return [_located(path, f"expected {expected}, got {_described(value, scalar)}")]


def _located(path: str, message: str) -> str:
    return f"{path}: {message}" if path else message


def _described(value: Any, scalar: str = "") -> str:
    """A value as the message shows it; numeric fields name its Go type."""
    if scalar == "numeric":
        return {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}[
            type(value)
        ]
    return (
        f"&value.valueUnstructured{{Value:{go_value(value)}}}"
        if scalar == "string"
        else f"&{{{go_value(value)}}}"
    )
