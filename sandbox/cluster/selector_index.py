"""Which selectors select a pod, without trying all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from handloop.apis.labels import Operator, Requirement

Key = tuple[str, str]

_ONE_OF: Final = frozenset((Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS))


class SelectorIndex:
    """
    The selectors of objects, by one label that each of them requires.

    Invariant: every key of _selectors is in _by_label once; under None if its selector requires no label. No
    set of _by_label is empty.
    """

    def __init__(self) -> None:
        self._selectors: dict[Key, tuple[Requirement, ...]] = {}
        self._by_label: dict[tuple[str, tuple[str, str] | None], set[Key]] = {}

    def put(self, key: Key, selector: tuple[Requirement, ...]) -> None:
        """Remember the selector of the object (namespace, name)."""
        if self._selectors.get(key) == selector:
            return
        self.drop(key)
        self._selectors[key] = selector
        self._by_label.setdefault((key[0], _label(selector)), set()).add(key)

    def drop(self, key: Key) -> None:
        """Forget an object."""
        selector = self._selectors.pop(key, None)
        if selector is not None:
            place = (key[0], _label(selector))
            self._by_label[place].discard(key)
            if not self._by_label[place]:
                del self._by_label[place]

    def selecting(self, namespace: str, pods: Iterable[Mapping[str, str]]) -> list[Key]:
        """The objects of a namespace that select any of the pods with these labels, in order."""
        found: set[Key] = set()
        for labels in pods:
            for label in (None, *labels.items()):
                found |= {
                    key for key in self._by_label.get((namespace, label), ()) if self._selects(key, labels)
                }
        return sorted(found)

    def _selects(self, key: Key, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self._selectors[key])


def equalities(selector: tuple[Requirement, ...]) -> dict[str, str]:
    """The labels that a selector requires with exactly one value."""
    return {
        part.key: part.values[0] for part in selector if part.operator in _ONE_OF and len(part.values) == 1
    }


def _label(selector: tuple[Requirement, ...]) -> tuple[str, str] | None:
    return min(equalities(selector).items(), default=None)
