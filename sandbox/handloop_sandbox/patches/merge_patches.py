"""
Applies JSON merge patches and strategic merge patches.

A JSON merge patch differs from RFC 7386 in one point: a list that replaces an object keeps the nulls inside
its elements. A strategic merge patch merges lists by the merge keys and strategies in the schema. Its
directives are `$patch: replace | delete | merge`, `$deleteFromPrimitiveList/<list>`,
`$setElementOrder/<list>` and `$retainKeys`. The input is never modified, because every level is copied.
Follows: gopkg.in/evanphx/json-patch.v4 merge.go, apimachinery pkg/util/strategicpatch/patch.go.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.kinds.structure import (
    is_struct,
    items_of,
    merge_key,
    patch_strategy,
    property_of,
    value_of,
)
from handloop_sandbox.wire.go_format import go_type, go_value
from handloop_sandbox.wire.resource import Schema
from handloop_sandbox.wire.status import StatusError, bad_request, failure, internal_error


def merge_patch(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Apply a JSON merge patch: null removes a member, objects are merged, other values replace a member."""
    merged = dict(current)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        old = merged.get(key)
        if not isinstance(old, dict):
            merged[key] = without_nulls(value)
        elif isinstance(value, dict):
            merged[key] = merge_patch(old, value)
        else:
            merged[key] = value
    return merged


def without_nulls(value: Any) -> Any:
    """Return a value without members that are null, at any depth. Null elements of lists are kept."""
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [without_nulls(child) for child in value]
    return value


PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList"
ELEMENT_ORDER = "$setElementOrder"
_RETAIN_KEYS_FORMAT: Final = "invalid patch format of retainKeys"

Map = dict[str, Any]


class _Field(NamedTuple):
    """How to patch a member: its schema (or its elements' schema), its merge key and its strategy."""

    schema: Schema
    key: str
    strategy: str


def strategic_merge_patch(current: Map, patch: Map, schema: Schema) -> Map:
    """
    Apply a strategic merge patch to an object, and return the new object.

    Raises: StatusError 400 for malformed directives, 422 for lists of lists, and 500 for errors to which
    Kubernetes assigns no other status.
    """
    return _merge_map(current, patch, schema)


def _merge_map(current: Map, patch: Map, schema: Schema) -> Map:
    if PATCH in patch:
        return _directive(patch)
    merged, rest = _retain_keys(current, patch)
    merged, rest = _ordered_lists(merged, rest, schema)
    for key, value in rest.items():
        if key.startswith(DELETE_FROM):
            _delete_from_primitives(merged, key, value)
        elif value is None:
            merged.pop(key, None)
        else:
            _set(merged, key, value, schema)
    return merged


def _directive(patch: Map) -> Map:
    match patch[PATCH]:
        case "replace":
            return {key: value for key, value in patch.items() if key != PATCH}
        case "delete":
            return {}
        case other:
            raise _unknown_directive(other, patch)


def _unknown_directive(directive: Any, patch: Map) -> StatusError:
    return internal_error(f"unknown patch type: {go_value(directive)} in map: {go_value(patch)}")


def _set(merged: Map, key: str, value: Any, schema: Schema) -> None:
    old = merged.get(key)
    if isinstance(old, dict) and isinstance(value, dict):
        field = _field(schema, key)
        merged[key] = value if field.strategy == "replace" else _merge_map(old, value, field.schema)
    elif isinstance(old, list) and isinstance(value, list):
        merged[key] = _merge_lists(old, value, _list_field(schema, key))
    else:
        plain, kept = _without_directives(without_nulls(value))
        merged.pop(key, None)
        if kept:
            merged[key] = plain


def _without_directives(value: Any) -> tuple[Any, bool]:
    """Return a value without the `$patch` maps inside it, and False if the value itself is such a map."""
    if isinstance(value, dict):
        if PATCH in value:
            return None, False
        pairs = ((key, _without_directives(child)) for key, child in value.items())
        return {key: child for key, (child, kept) in pairs if kept}, True
    if isinstance(value, list):
        return [child for child, kept in map(_without_directives, value) if kept], True
    return value, True


def _field(schema: Schema, key: str) -> _Field:
    if not is_struct(schema):
        kind = "map" if value_of(schema) is not None else "interface"
        raise internal_error(f"merging an object in json but data type is not struct, instead is: {kind}")
    found = property_of(schema, key)
    if found is None:
        raise internal_error(f'unable to find api field in struct for the json field "{key}"')
    strategies = [strategy for strategy in patch_strategy(found) if strategy != "retainKeys"]
    return _Field(found, merge_key(found) or "", strategies[0] if strategies else "")


def _list_field(schema: Schema, key: str) -> _Field:
    field = _field(schema, key)
    return field._replace(schema=items_of(field.schema) or {})


def _retain_keys(current: Map, patch: Map) -> tuple[Map, Map]:
    if RETAIN_KEYS not in patch:
        return dict(current), patch
    keys = patch[RETAIN_KEYS]
    if not isinstance(keys, list):
        raise bad_request(_RETAIN_KEYS_FORMAT)
    rest = {key: value for key, value in patch.items() if key != RETAIN_KEYS}
    wrong = [
        key
        for key, value in rest.items()
        if value is not None and not key.startswith((DELETE_FROM, ELEMENT_ORDER)) and key not in keys
    ]
    if wrong:
        raise bad_request(_RETAIN_KEYS_FORMAT)
    return {key: value for key, value in current.items() if key in keys}, rest


def _delete_from_primitives(merged: Map, key: str, value: Any) -> None:
    name = _listed(key, DELETE_FROM, "invalid patch format of primitive list")
    if value is None:
        merged.pop(name, None)
        return
    old = merged.get(name)
    if not isinstance(old, list) or not isinstance(value, list):
        return
    if not old and not value:
        return
    _element_kind(old, value)
    merged[name] = [entry for entry in old if entry not in value]


def _listed(key: str, directive: str, complaint: str) -> str:
    prefix, slash, name = key.partition("/")
    if not slash or prefix != directive:
        raise bad_request(complaint)
    return name


def _ordered_lists(current: Map, patch: Map, schema: Schema) -> tuple[Map, Map]:
    """Merge every list that has a `$setElementOrder`. Return the object and the rest of the patch."""
    merged, rest = current, dict(patch)
    for key, order in patch.items():
        if not key.startswith(ELEMENT_ORDER):
            continue
        del rest[key]
        if not isinstance(order, list):
            raise _wrong_type([], order)
        name = _listed(key, ELEMENT_ORDER, "invalid patch format of setElementOrder list")
        old, new = merged.get(name), rest.get(name)
        for value in (old, new):
            if value is not None and not isinstance(value, list):
                raise _wrong_type([], value)
        field = _list_field(schema, name)
        _check_order(new or [], order, field.key)
        if name not in merged and name not in rest:
            continue
        whole = _merged_list(old, new, field)
        _element_kind(old or [], new or [])
        merged[name] = _in_order(whole, order, old or [], field.key)
        rest.pop(name, None)
    return merged, rest


def _merged_list(old: list[Any] | None, new: list[Any] | None, field: _Field) -> list[Any]:
    if new is None:
        return old or []
    if old is None:
        plain, _ = _without_directives(new)
        return list(plain)
    return _merge_lists(old, new, field)


def _check_order(new: list[Any], order: list[Any], key: str) -> None:
    """Raise an error if the elements of a patch are not in the order of its `$setElementOrder`."""
    if not new or not order:
        return
    wanted = [
        entry for entry in new if not (key and isinstance(entry, dict) and entry.get(PATCH) == "delete")
    ]
    position = 0
    for named in order:
        while position < len(wanted) and _has_directive(wanted[position]):
            position += 1
        if position < len(wanted) and _key_of(wanted[position], key) == _key_of(named, key):
            position += 1
    # As in Kubernetes, a directive after the last ordered element counts as out of order.
    if position < len(wanted):
        given, wanted_order = go_value(new), go_value(order)
        text = f"The order in patch list:\n{given}\n doesn't match {ELEMENT_ORDER} list:\n{wanted_order}\n"
        raise internal_error(text)


def _has_directive(entry: Any) -> bool:
    return isinstance(entry, dict) and PATCH in entry


def _merge_lists(old: list[Any], new: list[Any], field: _Field) -> list[Any]:
    if field.strategy != "merge":
        return new
    if not old and not new:
        return old
    if _element_kind(old, new) is not dict:
        both = list(dict.fromkeys([*old, *new]))
        return _in_order(both, new, old, "")
    if not field.key:
        raise internal_error("cannot merge lists without merge key for struct")
    kept, additions = _special_elements(old, new, field.key)
    return _in_order(_merge_elements(kept, additions, field), additions, kept, field.key)


def _element_kind(*lists: Sequence[Any]) -> type:
    kinds = {type(entry) for entries in lists for entry in entries}
    if list in kinds:
        raise StatusError(failure(422, "Invalid", "lists of lists are not supported", details={}))
    if len(kinds) > 1:
        raise internal_error(
            f"list element types are not identical: {go_value([list(part) for part in lists])}"
        )
    if not kinds:
        raise internal_error("no elements in any of the given slices")
    return kinds.pop()


def _special_elements(old: list[Any], new: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Apply the elements with `$patch`. Return the remaining elements of the list and of the patch."""
    kept, additions, replace = list(old), [], False
    for entry in new:
        match entry.get(PATCH):
            case None if PATCH not in entry:
                additions.append(entry)
            case "delete":
                value = _key_of(entry, key)
                kept = [candidate for candidate in kept if candidate.get(key, _ABSENT) != value]
            case "replace":
                replace = True
            case "merge":
                raise internal_error("merging lists cannot yet be specified in the patch")
            case other:
                raise _unknown_directive(other, entry)
    return (additions, []) if replace else (kept, additions)


_ABSENT = object()


def _merge_elements(old: list[Any], new: list[Any], field: _Field) -> list[Any]:
    merged = list(old)
    for entry in new:
        value = _key_of(entry, field.key)
        found = [index for index, known in enumerate(merged) if known.get(field.key, _ABSENT) == value]
        if found:
            merged[found[0]] = _merge_map(merged[found[0]], entry, field.schema)
        else:
            merged.append(entry)
    return merged


def _key_of(entry: Any, key: str) -> Any:
    if not key:
        return entry
    if not isinstance(entry, dict):
        raise _wrong_type({}, entry)
    if key not in entry:
        raise internal_error(f"map: {go_value(entry)} does not contain declared merge key: {key}")
    return entry[key]


def _wrong_type(expected: Any, actual: Any) -> StatusError:
    return internal_error(f"expected a {go_type(expected)}, but received a {go_type(actual)}")


def _in_order(merged: list[Any], order: list[Any], server_order: list[Any], key: str) -> list[Any]:
    """
    Sort merged elements. Those in `order` get the patch's order, and the others keep the live list's order.

    The two sequences are then interleaved: each of the others is placed before the first element of `order`
    that follows it in the live list, or at the end if there is none.
    """
    ranks = _ranks(order, key)
    live = _ranks(server_order, key)
    ours = sorted(
        (entry for entry in merged if _rank(ranks, entry, key) >= 0), key=lambda e: _rank(ranks, e, key)
    )
    others = [entry for entry in merged if _rank(ranks, entry, key) < 0]
    others.sort(key=lambda entry: _rank(live, entry, key))
    result: list[Any] = []
    while ours and others:
        left, right = _rank(live, others[0], key), _rank(live, ours[0], key)
        first = others if 0 <= left < right else ours
        result.append(first.pop(0))
    return [*result, *ours, *others]


def _ranks(entries: list[Any], key: str) -> dict[Any, int]:
    ranks: dict[Any, int] = {}
    for index, entry in enumerate(entries):
        ranks.setdefault(_hashable(_key_of(entry, key)), index)
    return ranks


def _rank(ranks: dict[Any, int], entry: Any, key: str) -> int:
    return ranks.get(_hashable(_key_of(entry, key)), -1)


def _hashable(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
