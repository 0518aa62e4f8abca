"""Which Services select a pod, without looking at all of them."""

from __future__ import annotations

from collections.abc import Mapping

from handloop.sandbox.storage.stored import Change, ChangeType

_Key = tuple[str, str]


class ServiceIndex:
    """
    Services by one label of their selector.

    Invariant: _selectors has every Service with a selector; _by_label has each under its smallest label, and
    no empty set.
    """

    def __init__(self) -> None:
        self._selectors: dict[_Key, dict[str, str]] = {}
        self._by_label: dict[tuple[str, str, str], set[_Key]] = {}

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

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> list[_Key]:
        """The Services of a namespace that select a pod with these labels, in order of their names."""
        candidates = (self._by_label.get((namespace, *label), ()) for label in labels.items())
        found = {key for keys in candidates for key in keys if self._selectors[key].items() <= labels.items()}
        return sorted(found)
