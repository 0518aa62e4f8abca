"""Which objects carry some labels, without looking at all of them."""

from __future__ import annotations

from collections.abc import Mapping

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
