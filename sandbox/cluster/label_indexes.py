"""
Indexes by label: which objects have some labels, and which selectors select a pod, without trying all of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from handloop.apis.labels import Operator, Requirement
from handloop.sandbox.storage.stored import Change, ChangeType


class LabelIndex:
    """
    The names of one collection's objects by namespace and label.

    Invariant: an object is listed under every label it has; no listing is empty.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[str, str, str], set[str]] = {}

    def observe(self, change: Change) -> None:
        """Take note of a change."""
        before = _labels(change, old=True)
        after = {} if change.type is ChangeType.DELETED else _labels(change, old=False)
        if before == after:
            return
        for label in before.items():
            names = self._names[change.namespace, *label]
            names.discard(change.name)
            if not names:
                del self._names[change.namespace, *label]
        for label in after.items():
            self._names.setdefault((change.namespace, *label), set()).add(change.name)

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """The names of the objects that have all these labels, in order; none for no labels."""
        listings = [self._names.get((namespace, *label), set()) for label in labels.items()]
        return sorted(set.intersection(*sorted(listings, key=len))) if listings else []


def _labels(change: Change, *, old: bool) -> dict[str, str]:
    version = change.old if old else change.new
    return version.object["metadata"].get("labels") or {} if version else {}


Key = tuple[str, str]

_ONE_OF: Final = frozenset((Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS))


class SelectorIndex:
    """
    The selectors of objects, by one label that each of them requires.

    Invariant: every key of _selectors is in _by_label once, under None if its selector requires no label. No
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


class ServiceIndex:
    """
    Services by one label of their selector.

    Invariant: _selectors has every Service with a selector. _by_label has each of them under its smallest
    label, and no empty set.
    """

    def __init__(self) -> None:
        self._selectors: dict[Key, dict[str, str]] = {}
        self._by_label: dict[tuple[str, str, str], set[Key]] = {}

    def observe(self, change: Change) -> None:
        """Take note of a change of a Service."""
        key = (change.namespace, change.name)
        former = self._selectors.pop(key, None)
        if former is not None:
            place = (key[0], *min(former.items()))
            self._by_label[place].discard(key)
            if not self._by_label[place]:
                del self._by_label[place]
        selector = change.new.object["spec"].get("selector") or {}
        if change.type is not ChangeType.DELETED and selector:
            self._selectors[key] = selector
            self._by_label.setdefault((key[0], *min(selector.items())), set()).add(key)

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> list[Key]:
        """The Services of a namespace that select a pod with these labels, in order of their names."""
        candidates = (self._by_label.get((namespace, *label), ()) for label in labels.items())
        found = {key for keys in candidates for key in keys if self._selectors[key].items() <= labels.items()}
        return sorted(found)
