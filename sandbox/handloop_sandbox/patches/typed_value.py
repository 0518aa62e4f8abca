"""
Compares, validates and lists the fields of objects, according to their type.

The functions take decoded JSON values and their type (`merge_type.Atom`).
Follows: structured-merge-diff typed (compare.go, tofieldset.go, validate.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from handloop_sandbox.patches.field_set import SELF, FieldSet, field_element, graft, insert, shown
from handloop_sandbox.patches.merge_type import UNTYPED, Atom, ElementError, ListType, MapType
from handloop_sandbox.wire.go_format import go_value

ABSENT = object()
"""Stands for a member that is absent, in contrast to null."""


class Comparison(NamedTuple):
    """The fields that were added, modified and removed between two objects."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    @property
    def same(self) -> bool:
        """Whether the objects are equal."""
        return not (self.added or self.modified or self.removed)


def compare(left: Any, right: Any, atom: Atom) -> Comparison:
    """
    Return the fields that were added, modified and removed between left and right.

    Raises: ElementError if a list entry has no keys, or if the schema does not declare a field.
    """
    found = Comparison({}, {}, {})
    _compare(left, right, atom, [], found)
    return found


def _compare(left: Any, right: Any, atom: Atom, path: list[str], found: Comparison) -> None:
    if left is ABSENT:
        graft(found.added, path, _members(right, atom))
    elif right is ABSENT:
        graft(found.removed, path, _members(left, atom))
    elif left != right or type(left) is not type(right):
        _compare_as(left, right, atom.of(right), path, found)


def _compare_as(left: Any, right: Any, atom: Atom, path: list[str], found: Comparison) -> None:
    granular = granular_type(left, right, atom)
    if granular is None:
        insert(found.modified, path)
    elif isinstance(granular, MapType):
        _compare_maps(as_dict(left), as_dict(right), granular, path, found)
    else:
        _compare_lists(as_list(left), as_list(right), granular, path, found)


def _members(value: Any, atom: Atom) -> FieldSet:
    """Return the field set of a value that was added or removed as a whole, including the value itself."""
    found: FieldSet = {}
    if isinstance(value, dict) and (fields := atom.map) and not fields.atomic:
        for name, entry in value.items():
            found[field_element(name)] = _members(entry, _member(fields, name))
    elif isinstance(value, list) and (items := atom.list) and items.associative:
        for element, entries in _grouped(value, items).items():
            found[element] = _members(entries[0], items.entry) if len(entries) == 1 else {}
    return {SELF: {}, **found} if found else found


def granular_type(left: Any, right: Any, atom: Atom) -> MapType | ListType | None:
    """
    Return the map or list type if two values must be compared or merged entry by entry.

    Return None for scalars, atomic values or two empty values, which are treated as a whole.
    """
    if atom.map:
        return atom.map if not atom.map.atomic and (as_dict(left) or as_dict(right)) else None
    if atom.scalar or atom.list is None:
        return None
    return atom.list if atom.list.associative and (as_list(left) or as_list(right)) else None


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object; otherwise, return an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list; otherwise, return an empty list."""
    return value if isinstance(value, list) else []


def _compare_maps(
    left: dict[str, Any], right: dict[str, Any], kind: MapType, path: list[str], found: Comparison
) -> None:
    for key in (*left, *(key for key in right if key not in left)):
        member = _member(kind, key)
        old, new = left.get(key, ABSENT), right.get(key, ABSENT)
        if old is not new:
            path.append(field_element(key))
            _compare(old, new, member, path, found)
            path.pop()


def _member(kind: MapType, name: str) -> Atom:
    member = kind.member(name)
    if member is None:
        raise ElementError(f".{name}: field not declared in schema")
    return member


def _compare_lists(
    left: list[Any], right: list[Any], kind: ListType, path: list[str], found: Comparison
) -> None:
    old, new = _grouped(left, kind), _grouped(right, kind)
    for element in (*old, *(element for element in new if element not in old)):
        path.append(element)
        _compare_entries(old.get(element, []), new.get(element, []), kind, path, found)
        path.pop()


def _grouped(entries: Iterable[Any], kind: ListType) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    for entry in entries:
        grouped.setdefault(kind.element(entry), []).append(entry)
    return grouped


def _compare_entries(
    old: list[Any], new: list[Any], kind: ListType, path: list[str], found: Comparison
) -> None:
    """Compare the old and new list entries at one path. Duplicates are compared as a whole."""
    if len(old) <= 1 and len(new) <= 1:
        _compare(old[0] if old else ABSENT, new[0] if new else ABSENT, kind.entry, path, found)
    elif len(old) > 1 and len(new) > 1:
        if old != new:
            insert(found.modified, path)
    elif len(old) > 1:
        if new:
            _compare(ABSENT, new[0], kind.entry, path, found)
        insert(found.removed, path)
    else:
        if old:
            _compare(old[0], ABSENT, kind.entry, path, found)
        insert(found.added, path)


def field_set(value: Any, atom: Atom) -> FieldSet:
    """Return the set of all fields in an object."""
    found: FieldSet = {}
    _collect(value, atom, [], found)
    return found


def _collect(value: Any, atom: Atom, path: list[str], found: FieldSet) -> None:
    atom = atom.of(value)
    if atom.map:
        if atom.map.atomic:
            insert(found, path)
        else:
            _collect_map(as_dict(value), atom.map, path, found)
    elif atom.scalar or atom.list is None or not atom.list.associative:
        insert(found, path)
    else:
        _collect_list(as_list(value), atom.list, path, found)


def _collect_map(value: dict[str, Any], kind: MapType, path: list[str], found: FieldSet) -> None:
    for key, child in value.items():
        member = _member(kind, key)
        path.append(field_element(key))
        _collect(child, member, path, found)
        if child is None or child == {} or not kind.declares(key):
            insert(found, path)
        path.pop()


def _collect_list(value: list[Any], kind: ListType, path: list[str], found: FieldSet) -> None:
    for element, entries in _grouped(value, kind).items():
        path.append(element)
        if len(entries) == 1:
            _collect(entries[0], kind.entry, path, found)
        insert(found, path)
        path.pop()


def violations(value: Any, atom: Atom, path: str = "") -> list[str]:
    """Return messages about mismatches with the type, such as `.spec.x: field not declared in schema`."""
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
    """Describe a value of the wrong type for a message. If a number is expected, return only the Go type."""
    if scalar == "numeric":
        return {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}[
            type(value)
        ]
    return (
        f"&value.valueUnstructured{{Value:{go_value(value)}}}"
        if scalar == "string"
        else f"&{{{go_value(value)}}}"
    )
