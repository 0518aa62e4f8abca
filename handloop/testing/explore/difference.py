"""Where two documents differ, in words: `spec.replicas 1 -> 3`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_LONGEST: Final = 100


def differences(old: object, new: object, path: str = "") -> Iterator[str]:
    """The paths that differ, each with both values. Conditions are compared by their type."""
    old, new = _by_type(old), _by_type(new)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield from differences(old.get(name), new.get(name), f"{path}.{name}" if path else str(name))
    elif old != new:
        yield f"{path} {_short(old)} -> {_short(new)}"


def are_conditions(value: object) -> bool:
    """Whether a value is a list of conditions."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and {"type", "status"} <= one.keys() for one in value)
    )


def _by_type(value: Any) -> Any:
    return {one["type"]: one for one in value} if are_conditions(value) else value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
