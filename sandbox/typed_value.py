"""
Compare, merge and trim objects as their types say.

Every function takes a decoded JSON value and its type (`merge_type.Atom`); results share what did not change.
Follows: structured-merge-diff typed (compare.go, merge.go, tofieldset.go, remove.go, validate.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sandbox.field_set import FieldSet, below, field_element, has, insert, union
from sandbox.go_format import go_value
from sandbox.merge_type import UNTYPED, Atom, ElementError, ListType, MapType

_ABSENT = object()
_NOTHING = object()


class Comparison(NamedTuple):
    """What the second object has more, other and less than the first."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.modified or self.removed)


def compare(left: Any, right: Any, atom: Atom) -> Comparison:
    """
    The fields in which right differs from left.

    Raises: ElementError for list entries without keys.
    """
    found = Comparison({}, {}, {})
    _compare(left, right, atom, [], found)
    return found


def _compare(left: Any, right: Any, atom: Atom, path: list[str], found: Comparison) -> None:
    if left is right or (left == right and left is not _ABSENT and type(left) is type(right)):
        return
    right_atom = atom.of(None if right is _ABSENT else right)
    left_atom = atom.of(None if left is _ABSENT else left)
    if right is _ABSENT:
        leaf = _compare_as(left, right, left_atom, path, found)
    elif left is _ABSENT or _kind(left_atom) == _kind(right_atom):
        leaf = _compare_as(left, right, right_atom, path, found)
    else:
        leaf = _compare_as(left, right, right_atom, path, found)
    if not leaf:
        if left is _ABSENT:
            insert(found.added, path)
        elif right is _ABSENT:
            insert(found.removed, path)


def _kind(atom: Atom) -> str:
    """What a type is used as: a map before a scalar before a list."""
    return "map" if atom.map else "scalar" if atom.scalar else "list"


def _compare_as(left: Any, right: Any, atom: Atom, path: list[str], found: Comparison) -> bool:
    """Compare by the type; True when it was one value, whatever is inside."""
    granular = _granular(left, right, atom)
    if granular is None:
        target = found.added if left is _ABSENT else found.removed if right is _ABSENT else found.modified
        insert(target, path)
        return True
    if isinstance(granular, MapType):
        _compare_maps(_dict(left), _dict(right), granular, path, found)
    else:
        _compare_lists(_list(left), _list(right), granular, path, found)
    return False


def _granular(left: Any, right: Any, atom: Atom) -> MapType | ListType | None:
    """The type to descend with; None for a leaf: a scalar, an atomic value, or two empty ones."""
    if atom.map:
        return atom.map if not atom.map.atomic and (_dict(left) or _dict(right)) else None
    if atom.scalar or atom.list is None:
        return None
    return atom.list if atom.list.associative and (_list(left) or _list(right)) else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _compare_maps(
    left: dict[str, Any], right: dict[str, Any], kind: MapType, path: list[str], found: Comparison
) -> None:
    for key in (*left, *(key for key in right if key not in left)):
        member = kind.member(key)
        if member is None:
            raise ElementError(f".{key}: field not declared in schema")
        path.append(field_element(key))
        _compare(left.get(key, _ABSENT), right.get(key, _ABSENT), member, path, found)
        path.pop()


def _compare_lists(left: list[Any], right: list[Any], kind: ListType, path: list[str], found: Comparison) -> None:
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


def _compare_entries(old: list[Any], new: list[Any], kind: ListType, path: list[str], found: Comparison) -> None:
    """Entries with one name: usually one on each side; duplicates are compared as one value."""
    if len(old) <= 1 and len(new) <= 1:
        _compare(old[0] if old else _ABSENT, new[0] if new else _ABSENT, kind.entry, path, found)
    elif len(old) > 1 and len(new) > 1:
        if old != new:
            insert(found.modified, path)
    elif len(old) > 1:
        if new:
            _compare(_ABSENT, new[0], kind.entry, path, found)
        insert(found.removed, path)
    else:
        if old:
            _compare(old[0], _ABSENT, kind.entry, path, found)
        insert(found.added, path)


def field_set(value: Any, atom: Atom) -> FieldSet:
    """Every field an object has an opinion about."""
    found: FieldSet = {}
    _collect(value, atom, [], found)
    return found


def _collect(value: Any, atom: Atom, path: list[str], found: FieldSet) -> None:
    atom = atom.of(value)
    if atom.map:
        if atom.map.atomic:
            insert(found, path)
        else:
            _collect_map(_dict(value), atom.map, path, found)
    elif atom.scalar or atom.list is None or not atom.list.associative:
        insert(found, path)
    else:
        _collect_list(_list(value), atom.list, path, found)


def _collect_map(value: dict[str, Any], kind: MapType, path: list[str], found: FieldSet) -> None:
    for key, child in value.items():
        member = kind.member(key)
        if member is None:
            raise ElementError(f".{key}: field not declared in schema")
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


def merge(live: Any, applied: Any, atom: Atom) -> Any:
    """
    The live object with the applied configuration on top: applied values win, entries of lists find their place.

    Raises: ElementError for duplicate or nameless entries in applied.
    """
    merged = _merge(live, applied, atom)
    return None if merged is _NOTHING else merged


def _merge(live: Any, applied: Any, atom: Atom) -> Any:
    decider = live if applied is _ABSENT else applied
    atom = atom.of(None if decider is _ABSENT else decider)
    granular = _granular(live, applied, atom)
    if granular is None:
        return live if applied is _ABSENT else applied
    if isinstance(granular, MapType):
        return _merge_maps(_dict(live), _dict(applied), granular)
    return _merge_lists(_list(live), _list(applied), granular)


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], kind: MapType) -> Any:
    merged = {}
    for key in (*live, *(key for key in applied if key not in live)):
        if key not in applied:
            merged[key] = live[key]
            continue
        member = kind.member(key)
        if member is None:
            raise ElementError(f".{key}: field not declared in schema")
        value = _merge(live.get(key, _ABSENT), applied[key], member)
        if value is not _NOTHING:
            merged[key] = value
    return merged or _NOTHING


def _merge_lists(live: list[Any], applied: list[Any], kind: ListType) -> Any:
    """
    Entries in the applied order, live ones in between where they stood.

    Shared entries move only as far as the applied order demands.
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
            _take(merged, old.get(element, _ABSENT), new[element], kind)
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
    """Each live entry by name; None for a name that occurs twice: there is no telling which to merge with."""
    found: dict[str, Any] = {}
    for entry, element in zip(live, elements, strict=True):
        found[element] = None if element in found else entry
    return found


def _take(merged: list[Any], live: Any, applied: Any, kind: ListType) -> None:
    value = _merge(live, applied, kind.entry)
    if value is not _NOTHING:
        merged.append(value)


def remove(value: Any, fields: FieldSet, atom: Atom) -> Any:
    """The value without the members of a set; containers that become empty go as well (None)."""
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
    """A set in which declared fields that have something below them are members themselves."""
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
            name = shown_element(element)
            if element in seen:
                found.append(_located(path, f"duplicate entries for key {name}"))
            seen.add(element)
        found += violations(entry, kind.entry, path + name)
    return found


def shown_element(element: str) -> str:
    """One element as messages show it."""
    from sandbox.field_set import shown  # noqa: PLC0415

    return shown((element,))


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
        return {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}[type(value)]
    return f"&value.valueUnstructured{{Value:{go_value(value)}}}" if scalar == "string" else f"&{{{go_value(value)}}}"


def joined(*sets: FieldSet) -> FieldSet:
    """The union of any number of sets."""
    whole: FieldSet = {}
    for fields in sets:
        whole = union(whole, fields)
    return whole
