"""
Finds the values that depend on chance or time.

These are the values that differ between two undisturbed runs with different seeds and years.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from handloop_explore.difference import Path, value_at
from handloop_explore.end_state import plain_name, renamed

BY_CHANCE = "(by chance)"
Objects = Mapping[str, dict[str, Any]]


class Chance(NamedTuple):
    """The paths of values that may differ between two runs. A path begins with the object's plain name."""

    paths: frozenset[Path] = frozenset()

    @classmethod
    def of(cls, good: Sequence[Objects], twin: Sequence[Objects]) -> Self:
        """Return the differences between the states of two undisturbed runs."""
        return cls(
            frozenset(
                (plain_name(key), *path)
                for ours, theirs in zip(good, twin, strict=False)
                for key, obj in renamed(theirs, ours).items()
                if key in ours
                for path in _differing(ours[key], obj)
            )
        )

    def paths_of(self, key: str) -> list[Path]:
        """Return the paths in an object at which the value depends on chance."""
        plain = plain_name(key)
        return [path[1:] for path in self.paths if path[0] == plain]

    def without(self, objects: Objects) -> dict[str, dict[str, Any]]:
        """Return the objects, with BY_CHANCE in place of each value that depends on chance."""
        return {key: self._masked(key, obj) for key, obj in objects.items()}

    def _masked(self, key: str, obj: dict[str, Any]) -> dict[str, Any]:
        paths = [path for path in self.paths_of(key) if path and value_at(obj, path) is not None]
        made = copy.deepcopy(obj) if paths else obj
        for *above, last in paths:
            inner: Any = value_at(made, above)
            if not isinstance(inner, str):  # masked above
                inner[last] = BY_CHANCE
        return made


def _differing(good: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(good, dict) and isinstance(other, dict) and good.keys() == other.keys():
        for name in good:
            yield from _differing(good[name], other[name], (*path, name))
    elif isinstance(good, list) and isinstance(other, list) and len(good) == len(other):
        for index, pair in enumerate(zip(good, other, strict=True)):
            yield from _differing(*pair, (*path, index))
    elif good != other:
        yield path
