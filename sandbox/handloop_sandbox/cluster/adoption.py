"""
Decides which objects belong to an owner, by label and by owner reference.

An object that matches and has no controller is adopted. A controlled object that no longer matches is
released.
Follows: kubernetes pkg/controller/controller_ref_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.cluster.workloads import is_deleting
from handloop_sandbox.storage.owner_references import (
    controller_of,
    controller_reference,
    is_controlled_by,
    references,
    with_references,
    without_owners,
)
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.resource import GroupResource


class Claim(NamedTuple):
    """The objects that belong to an owner, and the writes that adopt and release objects."""

    objects: list[Object]
    writes: list[Write]


def claim(
    owner: Object,
    collection: GroupResource,
    candidates: Iterable[Object],
    selector: Mapping[str, Any] | None,
) -> Claim:
    """Decide which candidates belong to owner. Candidates with another controller are ignored."""
    claimed: list[Object] = []
    writes: list[Write] = []
    for candidate in candidates:
        matching = matches(selector, candidate["metadata"].get("labels"))
        if is_controlled_by(candidate, owner["metadata"]["uid"]):
            if matching:
                claimed.append(candidate)
            elif not is_deleting(owner):
                released = without_owners(candidate, {owner["metadata"]["uid"]})
                writes.append(Write.of("update", collection, released))
        elif matching and controller_of(candidate) is None and not _is_closed(owner, candidate):
            adopted = with_references(candidate, [*references(candidate), controller_reference(owner)])
            claimed.append(adopted)
            writes.append(Write.of("update", collection, adopted))
    return Claim(claimed, writes)


def _is_closed(owner: Object, candidate: Object) -> bool:
    return is_deleting(owner) or is_deleting(candidate)


def controlled(state: State, owner: Object, collection: GroupResource) -> list[Object]:
    """Return the objects in a collection whose controller is owner."""
    uid = owner["metadata"]["uid"]
    owned = state.by_owner(uid)
    return [obj for place, obj in owned if place == collection and is_controlled_by(obj, uid)]


class Orphans:
    """
    The objects in one collection that have no controller, grouped by namespace.

    Invariant: the recorded names match the stored state, because observe() is called for every change.
    """

    def __init__(self, collection: GroupResource) -> None:
        self._collection = collection
        self._names: dict[str, set[str]] = {}

    def observe(self, change: Change) -> bool:
        """Record a change. Returns: whether the object can be adopted now."""
        new = change.new.object
        names = self._names.setdefault(change.namespace, set())
        if change.type is ChangeType.DELETED or controller_of(new) is not None:
            names.discard(change.name)
            return False
        names.add(change.name)
        old = change.old.object if change.old else None
        return old is None or controller_of(old) is not None or _labels(old) != _labels(new)

    def among(self, state: State, namespace: str) -> Sequence[Object]:
        """Return the orphans in a namespace, ordered by name."""
        found = (
            state.get(self._collection, namespace, name) for name in sorted(self._names.get(namespace, ()))
        )
        return [obj for obj in found if obj is not None]


def _labels(obj: Object) -> object:
    return obj["metadata"].get("labels") or {}
