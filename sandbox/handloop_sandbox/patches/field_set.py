"""
Sets of field paths, in the format of `fieldsV1`, and operations on them.

A set is a nested dict that maps each path element to the set of the paths below it. Elements are `f:<name>`,
`k:<JSON of key members>`, `v:<JSON value>` and `i:<index>`. If an element with children is itself a member of
the set, its dict has the entry "."; a member without children is `{}`. Only insert() and graft() modify their
arguments. Results may share dicts with the arguments.
Follows: structured-merge-diff fieldpath (set.go, serialize.go, serialize-pe.go).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from handloop_sandbox.wire.go_format import escaped

FieldSet = dict[str, Any]
Path = tuple[str, ...]

SELF = "."
"""The entry that marks an element with children as a member itself."""
_MEMBER: FieldSet = {SELF: {}}


def field_element(name: str) -> str:
    """Return the path element for an object's member."""
    return f"f:{name}"


def key_element(keys: dict[str, Any]) -> str:
    """Return the path element for a list entry that is identified by key members."""
    return "k:" + _go_json(dict(sorted(keys.items())))


def value_element(value: Any) -> str:
    """Return the path element for a value in a list that is a set."""
    return "v:" + _go_json(value)


def decoded(value: Any) -> FieldSet:
    """
    Return the set that a client sent as `fieldsV1`. Elements of an unknown kind are left out.

    Raises: ValueError if it is malformed.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("a set of fields must be an object")  # noqa: TRY004 - a malformed value, not a bug
    fields: FieldSet = {}
    for element, node in value.items():
        if element == SELF:
            fields[SELF] = {}
        elif (known := _decoded_element(element)) is not None:
            fields[known] = _plain(decoded(node))
    return fields


def _decoded_element(element: str) -> str | None:
    kind, colon, rest = element[:1], element[1:2], element[2:]
    if colon != ":" or not kind.isascii():
        raise ValueError(f"malformed path element {element}")
    match kind:
        case "f":
            return element
        case "i":
            return f"i:{int(rest)}"
        case "v":
            return value_element(json.loads(rest))
        case "k":
            keys = json.loads(rest)
            if not isinstance(keys, dict):
                raise ValueError(f"malformed path element {element}")  # noqa: TRY004 - as above
            return key_element(keys)
    return None


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _go_json(value: Any) -> str:
    return escaped(_encode(value))


def insert(fields: FieldSet, path: Sequence[str]) -> None:
    """Add one path to a set, in place."""
    if not path:
        return
    fields = _parent(fields, path)
    last: FieldSet | None = fields.get(path[-1])
    if last is None:
        fields[path[-1]] = {}
    elif last:
        last[SELF] = {}


def graft(fields: FieldSet, path: Sequence[str], node: FieldSet) -> None:
    """Insert the set node at a path of another set, in place. The other set must not contain the path."""
    _parent(fields, path)[path[-1]] = node


def _parent(fields: FieldSet, path: Sequence[str]) -> FieldSet:
    for element in path[:-1]:
        child: FieldSet | None = fields.get(element)
        if child is None:
            child = fields[element] = {}
        elif not child:
            child[SELF] = {}
        fields = child
    return fields


def _whole(node: FieldSet) -> FieldSet:
    return node or _MEMBER


def _plain(node: FieldSet) -> FieldSet:
    return {} if node == _MEMBER else node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of either set."""
    if not left or left is right:
        return right
    merged = dict(left)
    for element, node in right.items():
        known = merged.get(element)
        merged[element] = node if known is None else _plain(union(_whole(known), _whole(node)))
    return merged


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of left that are not in right. Removing a member does not remove its children."""
    rest: FieldSet | None = None
    for element, node in right.items():
        known = left.get(element)
        if known is None:
            continue
        rest = dict(left) if rest is None else rest
        below = {} if element == SELF else difference(_whole(known), _whole(node))
        if below:
            rest[element] = _plain(below)
        else:
            del rest[element]
    return left if rest is None else rest


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of both sets."""
    shared: FieldSet = {}
    for element, node in right.items():
        known = left.get(element)
        if known is None:
            continue
        if element == SELF:
            shared[element] = {}
        elif below := intersection(_whole(known), _whole(node)):
            shared[element] = _plain(below)
    return shared


def without(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return left without the members of right and without all paths below those members."""
    rest: FieldSet = {}
    for element, node in left.items():
        other = right.get(element)
        if other is None:
            rest[element] = node
        elif other and SELF not in other and (below := without(_whole(node), other)):
            rest[element] = _plain(below)
    return rest


def has(fields: FieldSet, element: str) -> bool:
    """Return whether the path that consists of this one element is a member."""
    node = fields.get(element)
    return node is not None and (not node or SELF in node)


def below(fields: FieldSet, element: str) -> FieldSet:
    """Return the set of the paths below an element."""
    node = fields.get(element)
    if not node:
        return {}
    return {key: child for key, child in node.items() if key != SELF} if SELF in node else node


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Yield every member. The members at each level are sorted, and come before all members below them."""
    ordered = sorted(element for element in fields if element != SELF)
    for element in ordered:
        if has(fields, element):
            yield (*prefix, element)
    for element in ordered:
        yield from paths(below(fields, element), (*prefix, element))


def shown(path: Path) -> str:
    """Return a path in the form that messages use: `.spec.containers[name="app"].image`."""
    return "".join(map(_shown_element, path))


def _shown_element(element: str) -> str:
    kind, rest = element[0], element[2:]
    match kind:
        case "f":
            return f".{rest}"
        case "k":
            keys = json.loads(rest)
            return "[" + ",".join(f"{name}={_go_json(value)}" for name, value in sorted(keys.items())) + "]"
        case "v":
            return f"[={rest}]"
        case _:
            return f"[{rest}]"
