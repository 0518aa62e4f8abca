"""Indexes that find objects by their labels, and Services by the labels of the pods that they select."""

from __future__ import annotations

from collections.abc import Mapping

from handloop_sandbox.storage.stored import Change, ChangeType


class LabelIndex:
    """
    The names of the objects in one collection, indexed by namespace and label.

    Invariant: each object is listed under all its labels, and no listing is empty.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[str, str, str], set[str]] = {}

    def observe(self, change: Change) -> None:
        """Update the index after a change."""
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
        """Return the sorted names of the objects with all these labels. If labels is empty, return []."""
        listings = [self._names.get((namespace, *label), set()) for label in labels.items()]
        return sorted(set.intersection(*sorted(listings, key=len))) if listings else []


def _labels(change: Change, *, old: bool) -> dict[str, str]:
    version = change.old if old else change.new
    return version.object["metadata"].get("labels") or {} if version else {}


Key = tuple[str, str]


class ServiceIndex:
    """
    The Services that have a selector, indexed by one label of the selector.

    Invariant: _selectors holds every Service that has a selector. _by_label lists each of them under its
    selector's smallest label, and no list is empty.
    """

    def __init__(self) -> None:
        self._selectors: dict[Key, dict[str, str]] = {}
        self._by_label: dict[tuple[str, str, str], set[Key]] = {}

    def observe(self, change: Change) -> None:
        """Update the index after a change to a Service."""
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
        """Return the keys of the Services that select a pod with these labels, ordered by name."""
        candidates = (self._by_label.get((namespace, *label), ()) for label in labels.items())
        found = {key for keys in candidates for key in keys if self._selectors[key].items() <= labels.items()}
        return sorted(found)
