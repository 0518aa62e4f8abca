"""
Copies an immutable object with one value changed, at any depth.

    evolve(deployment, "spec.template.spec.containers[0].image", "nginx:2")
    evolve(greeting, 'metadata.labels["app.kubernetes.io/name"]', "greeter")
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from handloop.apis.declaration import checked, fields_of, no_field
from handloop.apis.meta import MapOf, frozen

T = TypeVar("T", bound=msgspec.Struct)

_STEP: Final = re.compile(
    r"""\.?(?P<field>\w+)|\[(?P<index>-?\d+)\]|\[(?P<quote>["'])(?P<key>.*?)(?P=quote)\]"""
)


def evolve(obj: T, path: str, value: Any) -> T:
    """
    Return a copy of obj with a new value at a path. Everything outside the path is shared with obj.

    Args: path holds field names as Python spells them, `[0]` for an entry of a list, and `["key"]` for an
    entry of a map, which need not exist yet. Lists and dicts in value become tuples and FrozenMaps.
    Raises: ValueError for a path that does not exist; TypeError for a value that does not fit its field, such
    as a dict in place of a struct.
    """
    evolved: T = _evolved(obj, _steps(path), frozen(value))
    return evolved


def _steps(path: str) -> list[re.Match[str]]:
    steps, at = [], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (step["field"] and (at > 0) != path[at:].startswith(".")):
            raise ValueError(
                f"the path {path!r} is invalid at {path[at:]!r}: write one like spec.containers[0].image"
            )
        steps.append(step)
        at = step.end()
    if not steps:
        raise ValueError("the path is empty")
    return steps


def _evolved(whole: Any, steps: list[re.Match[str]], value: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    where = step.string[: step.start()] or type(whole).__name__
    if whole is None:
        raise ValueError(f"{where} is None: set the whole object first")

    def deeper(part: Any) -> Any:
        return _evolved(part, rest, value)

    if step["field"] is not None:
        return _with_field(whole, step["field"], where, deeper)
    if step["index"] is not None:
        return _with_entry(whole, int(step["index"]), where, deeper)
    return _with_key(whole, step["key"], where, deeper)


def _with_field(whole: Any, name: str, where: str, deeper: Callable[[Any], Any]) -> Any:
    fields = fields_of(type(whole)) if isinstance(whole, msgspec.Struct) else {}
    if name not in fields:
        raise ValueError(f"{where} {no_field(fields, name)}")
    new = deeper(getattr(whole, name))
    checked(f"{where}.{name}", fields[name].type, new)
    return msgspec.structs.replace(whole, **{name: new})


def _with_entry(whole: Any, index: int, where: str, deeper: Callable[[Any], Any]) -> Any:
    entries = list(whole) if isinstance(whole, tuple) else None
    if entries is None or not -len(entries) <= index < len(entries):
        has = "is not a list" if entries is None else f"has {len(entries)} entries"
        raise ValueError(f"{where} {has}: there is no [{index}]")
    entries[index] = deeper(entries[index])
    return tuple(entries)


def _with_key(whole: Any, key: str, where: str, deeper: Callable[[Any], Any]) -> Any:
    entries = dict(whole) if isinstance(whole, MapOf) else None
    if entries is None:
        raise ValueError(f"{where} is not a map, so it has no entry [{key!r}]")
    return type(whole)({**entries, key: deeper(entries.get(key))})
