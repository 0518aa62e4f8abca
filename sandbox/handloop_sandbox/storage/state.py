"""The state that the API reads: the current state, or the state at an older version."""

from __future__ import annotations

import builtins
from collections.abc import Collection as AnyCollection
from typing import Protocol

from handloop_sandbox.storage.collection import Collection
from handloop_sandbox.storage.stored import Object, Stored, object_key
from handloop_sandbox.wire.resource import GroupResource


class State(Protocol):
    """Read access to all stored objects. They are shared, so callers must not modify them."""

    @property
    def resource_version(self) -> int:
        """The version of the newest change. The next change increments it."""

    @property
    def compacted(self) -> int:
        """The oldest version that can be read. Older ones are compacted, as in etcd."""

    def get(self, group_resource: GroupResource, namespace: str, name: str) -> Object | None:
        """Return the object with this name, or None if it does not exist."""
        stored = self.stored(group_resource, namespace, name)
        return None if stored is None else stored.object

    def list(self, group_resource: GroupResource, namespace: str = "") -> builtins.list[Object]:
        """Return a kind's objects in key order, from one namespace or all."""
        collection = self.collection(group_resource)
        return [collection.objects[key].object for key in collection.select(namespace)]

    def count(self, group_resource: GroupResource) -> int:
        """Return the number of objects of a kind."""

    def group_resources(self) -> AnyCollection[GroupResource]:
        """Return the collections, including those whose objects have all been deleted."""

    def by_owner(self, uid: str) -> builtins.list[tuple[GroupResource, Object]]:
        """Return the objects with an owner reference to this uid."""

    def by_uid(self, uid: str) -> tuple[GroupResource, Object] | None:
        """Return the object with that uid."""

    def stored(self, group_resource: GroupResource, namespace: str, name: str) -> Stored | None:
        """Return one object with its bytes."""

    def collection(self, group_resource: GroupResource) -> Collection:
        """Return a collection with its history. It is empty if no object of the kind was ever stored."""


class PastState(State):
    """
    The state at an older version, as an API server that lags behind returns it.

    If a collection's history does not reach back to that version, the collection is returned in the oldest
    state that its history can reconstruct.
    """

    def __init__(self, state: State, resource_version: int) -> None:
        self._state = state
        self._resource_version = min(resource_version, state.resource_version)
        self._collections: dict[GroupResource, Collection] = {}

    @property
    def resource_version(self) -> int:
        """The version that this state shows."""
        return self._resource_version

    @property
    def compacted(self) -> int:
        """The oldest version that is still readable."""
        return min(self._state.compacted, self._resource_version)

    def stored(self, group_resource: GroupResource, namespace: str, name: str) -> Stored | None:
        """Return one object with its bytes."""
        return self.collection(group_resource).objects.get(object_key(namespace, name))

    def count(self, group_resource: GroupResource) -> int:
        """Return how many objects of a kind exist at this version."""
        return len(self.collection(group_resource).objects)

    def group_resources(self) -> AnyCollection[GroupResource]:
        """Return the collections, including those whose objects have all been deleted."""
        return self._state.group_resources()

    def collection(self, group_resource: GroupResource) -> Collection:
        """Return a collection at this version, with its history up to the same version."""
        found = self._collections.get(group_resource)
        if found is None:
            found = self._state.collection(group_resource).until(self._resource_version)
            self._collections[group_resource] = found
        return found

    def by_owner(self, uid: str) -> builtins.list[tuple[GroupResource, Object]]:
        """Return the objects with an owner reference to this uid."""
        return [
            (kind, obj)
            for kind in self.group_resources()
            for obj in self.list(kind)
            if any(owner.get("uid") == uid for owner in obj["metadata"].get("ownerReferences") or ())
        ]

    def by_uid(self, uid: str) -> tuple[GroupResource, Object] | None:
        """Return the object with that uid."""
        return next(
            (
                (kind, obj)
                for kind in self.group_resources()
                for obj in self.list(kind)
                if obj["metadata"].get("uid") == uid
            ),
            None,
        )
