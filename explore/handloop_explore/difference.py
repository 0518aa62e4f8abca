"""Describes where two documents differ: `spec.replicas 1 -> 3`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_LONGEST: Final = 100


def differences(old: object, new: object, path: str = "") -> Iterator[str]:
    """Yield each path at which two values differ, with both values. Conditions are matched by type."""
    old, new = by_type(old), by_type(new)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield from differences(old.get(name), new.get(name), f"{path}.{name}" if path else str(name))
    elif old != new:
        yield f"{path} {_short(old)} -> {_short(new)}"


def differences_of(key: str, old: object, new: object) -> Iterator[str]:
    """Yield an object's differences, hiding a Secret's values. Args: key: such as `Secret default/a`."""
    for words in differences(old, new):
        path = words.partition(" ")[0]
        is_shown = path.startswith("metadata.") and not path.startswith("metadata.annotations")
        yield words if is_shown or not key.startswith("Secret ") else f"{path} *** -> ***"


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path in a document, or None if the path does not exist."""
    for name in path:
        try:
            value = value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def are_conditions(value: object) -> bool:
    """Return whether a value is a list of conditions."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and {"type", "status"} <= one.keys() for one in value)
    )


def by_type(value: Any) -> Any:
    """Return a list of conditions as a map by type, and any other value unchanged."""
    return {one["type"]: one for one in value} if are_conditions(value) else value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
