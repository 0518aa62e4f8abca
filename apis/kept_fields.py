"""
Preserves, in an annotation, the fields that another version of a kind lacks.

A class lists these fields by their wire names: `kept_fields: ClassVar = ("spec.hosts",)`. If a conversion to
another version and back would not restore a field's value, the conversion stores the value in the annotation
`GROUP/kept-VERSION`. The conversion back takes the value from there, unless the conversion functions now
compute a different value than they did before. In that case, a client has used the other version to change a
field from which the functions compute the value, and the client's change wins. A client can also write the
annotation itself; a value in it that does not fit is ignored.
Follows: cluster-api util/conversion (MarshalData), differs: a change made in the meantime wins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from handloop.apis.meta import Kind

Document = dict[str, Any]
"""An object as decoded JSON."""

_ABSENT: Final = object()
_MADE, _IS = "made", "is"


def annotation_of(kind: type[Kind]) -> str:
    """Return the key of the annotation that stores a version's kept fields."""
    return f"{kind.resource.group}/kept-{kind.resource.version}"


def kept_fields(kind: type[Kind]) -> tuple[str, ...]:
    """Return the paths that a version names."""
    return tuple(getattr(kind, "kept_fields", ()))


def put_away(kind: type[Kind], obj: Document, returned: Document) -> str:
    """
    Return the text of the annotation that keeps obj's values, or "" if no value has to be kept.

    Args: returned is obj after a conversion to the other version and back, without the annotation.
    """
    kept: dict[str, Any] = {}
    for path in kept_fields(kind):
        value, made = _at(obj, path), _at(returned, path)
        if value != made:
            kept[path] = {_MADE: _digest(made)} | ({} if value is _ABSENT else {_IS: value})
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False) if kept else ""


def kept_values(kind: type[Kind], text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each path in an annotation's text, with the entry that is stored for it."""
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError):
        return
    for path in kept_fields(kind):
        entry = kept.get(path) if isinstance(kept, dict) else None
        if isinstance(entry, dict):
            yield path, entry


def brought_back(obj: Document, path: str, entry: dict[str, Any]) -> Document | None:
    """Return obj with a path's kept value, or None if the conversion now computes a different value."""
    if entry.get(_MADE) != _digest(_at(obj, path)):
        return None
    return _with(obj, path.split("."), entry.get(_IS, _ABSENT))


def _digest(value: Any) -> str:
    if value is _ABSENT:
        return ""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2s(text.encode(), digest_size=6).hexdigest()


def _at(obj: Mapping[str, Any], path: str) -> Any:
    value: Any = obj
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _with(obj: Document, path: list[str], value: Any) -> Document:
    first, *rest = path
    if not rest:
        others = {name: each for name, each in obj.items() if name != first}
        return others if value is _ABSENT else others | {first: value}
    inner = obj.get(first)
    return {**obj, first: _with(inner if isinstance(inner, dict) else {}, rest, value)}
