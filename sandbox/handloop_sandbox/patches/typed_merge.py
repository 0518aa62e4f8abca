"""
Merges an applied configuration into a live object, and removes fields from an object.

Follows: structured-merge-diff typed (merge.go, remove.go) and fieldpath/set.go
(EnsureNamedFieldsAreMembers).
"""

from __future__ import annotations

from typing import Any

from handloop_sandbox.patches.field_set import FieldSet, below, field_element, has
from handloop_sandbox.patches.merge_type import Atom, ElementError, ListType, MapType
from handloop_sandbox.patches.typed_value import ABSENT, as_dict, as_list, granular_type

_NOTHING = object()


def merge(live: Any, applied: Any, atom: Atom) -> Any:
    """
    Merge the applied configuration into the live object. Applied values take precedence.

    Raises: ElementError if a list in applied contains duplicate entries or entries without keys.
    """
    merged = _merge(live, applied, atom)
    return None if merged is _NOTHING else merged


def _merge(live: Any, applied: Any, atom: Atom) -> Any:
    decider = live if applied is ABSENT else applied
    atom = atom.of(None if decider is ABSENT else decider)
    granular = granular_type(live, applied, atom)
    if granular is None:
        return live if applied is ABSENT else applied
    if isinstance(granular, MapType):
        return _merge_maps(as_dict(live), as_dict(applied), granular)
    return _merge_lists(as_list(live), as_list(applied), granular)


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], kind: MapType) -> Any:
    merged = {}
    for key in (*live, *(key for key in applied if key not in live)):
        if key not in applied:
            merged[key] = live[key]
            continue
        member = kind.member(key)
        if member is None:
            raise ElementError(f".{key}: field not declared in schema")
        value = _merge(live.get(key, ABSENT), applied[key], member)
        if value is not _NOTHING:
            merged[key] = value
    return merged or _NOTHING


def _merge_lists(live: list[Any], applied: list[Any], kind: ListType) -> Any:
    """
    Merge two lists. The applied entries keep their order, and the other live entries stay where they are.

    An entry that is in both lists moves only if the order of the applied entries requires it.
    """
    new = _indexed(applied, kind)
    old_elements = [kind.element(entry) for entry in live]
    old = _first_or_none(live, old_elements)
    shared = [element for element in new if element in old]
    merged: list[Any] = []
    taken: set[str] = set()
    order = list(new)
    left = right = 0
    while left < len(live) or right < len(order):
        if left < len(live):
            element = old_elements[left]
            if right < len(order) and element == order[right]:
                _take(merged, old[element], new[element], kind)
                taken.add(element)
                left, right = left + 1, right + 1
                shared = shared[1:]
                continue
            if right < len(order) and element in new and shared and shared[0] != element:
                left += 1
                continue
            if element not in new:
                merged.append(live[left])
                left += 1
                continue
            if element in taken:
                left += 1
        if right < len(order):
            element = order[right]
            _take(merged, old.get(element, ABSENT), new[element], kind)
            taken.add(element)
            right += 1
            if shared and shared[0] == element:
                shared = shared[1:]
    return merged or _NOTHING


def _indexed(applied: list[Any], kind: ListType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in applied:
        element = kind.element(entry)
        if element in found:
            raise ElementError(f"duplicate entries for key {element}")
        found[element] = entry
    return found


def _first_or_none(live: list[Any], elements: list[str]) -> dict[str, Any]:
    """Map each element to its live entry, or to None if it occurs twice and therefore cannot be merged."""
    found: dict[str, Any] = {}
    for entry, element in zip(live, elements, strict=True):
        found[element] = None if element in found else entry
    return found


def _take(merged: list[Any], live: Any, applied: Any, kind: ListType) -> None:
    value = _merge(live, applied, kind.entry)
    if value is not _NOTHING:
        merged.append(value)


def remove(value: Any, fields: FieldSet, atom: Atom) -> Any:
    """Return the value without these fields. For a list or object that becomes empty, return None."""
    atom = atom.of(value)
    if atom.map and isinstance(value, dict):
        return None if atom.map.atomic or not value else _remove_from_map(value, fields, atom.map)
    if atom.list and isinstance(value, list):
        return None if not atom.list.associative or not value else _remove_from_list(value, fields, atom.list)
    return value if atom.scalar else None


def _remove_from_map(value: dict[str, Any], fields: FieldSet, kind: MapType) -> Any:
    kept = {}
    for key, child in value.items():
        element = field_element(key)
        if has(fields, element):
            continue
        inside = below(fields, element)
        member = kind.member(key)
        kept[key] = remove(child, inside, member) if inside and member else child
    return kept or None


def _remove_from_list(value: list[Any], fields: FieldSet, kind: ListType) -> Any:
    kept = []
    for entry in value:
        element = kind.element(entry)
        if has(fields, element):
            continue
        inside = below(fields, element)
        kept.append(remove(entry, inside, kind.entry) if inside else entry)
    return kept or None


def with_named_members(fields: FieldSet, atom: Atom | None) -> FieldSet:
    """Return the set, plus each declared field that has members below it."""
    widened: FieldSet = {}
    for element, node in fields.items():
        if element == ".":
            widened[element] = {}
            continue
        inside = with_named_members(below(fields, element), _child(atom, element))
        member = has(fields, element) or _declared(atom, element)
        widened[element] = ({".": {}, **inside} if member else inside) if inside else {}
        if not node:
            widened[element] = {}
    return widened


def _declared(atom: Atom | None, element: str) -> bool:
    return bool(atom and atom.map and element[0] == "f" and atom.map.declares(element[2:]))


def _child(atom: Atom | None, element: str) -> Atom | None:
    if atom is None:
        return None
    if element[0] == "f":
        return atom.map.member(element[2:]) if atom.map else None
    return atom.list.entry if atom.list else None
