"""
Stores every object, one resource version counter, and the histories that watches read.

Threads: the store starts no threads. The engine's lock serialises all calls.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Mapping

from handloop_sandbox.storage.collection import Collection
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object, Stored, object_key
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource

FIRST_RESOURCE_VERSION = 100
DEFAULT_HISTORY_SIZE = 10_000

_Place = tuple[GroupResource, str]
Snapshot = Mapping[GroupResource, Mapping[str, Stored]]


class Store(State):
    """
    The current state, which changes with each commit.

    history_size is the maximum number of changes in a collection's history. A watch or list that needs older
    changes is refused with Expired.
    State: _floor is the version at which the history of a new collection starts. When redefine() deletes a
    collection, its changes are lost, so _floor becomes the version of the deletion.
    """

    def __init__(self, *, history_size: int = DEFAULT_HISTORY_SIZE) -> None:
        self._history_size = history_size
        self._collections: dict[GroupResource, Collection] = {}
        self._resource_version = FIRST_RESOURCE_VERSION
        self._compacted = FIRST_RESOURCE_VERSION
        self._floor = FIRST_RESOURCE_VERSION
        self._by_uid: dict[str, _Place] = {}
        self._by_owner: dict[str, dict[_Place, None]] = {}

    @property
    def resource_version(self) -> int:
        """The version of the newest change."""
        return self._resource_version

    @property
    def compacted(self) -> int:
        """The oldest version that is still readable."""
        return self._compacted

    def stored(self, group_resource: GroupResource, namespace: str, name: str) -> Stored | None:
        """Return one object with its bytes."""
        collection = self._collections.get(group_resource)
        return None if collection is None else collection.objects.get(object_key(namespace, name))

    def count(self, group_resource: GroupResource) -> int:
        """Return the number of objects of a kind."""
        collection = self._collections.get(group_resource)
        return 0 if collection is None else len(collection.objects)

    def group_resources(self) -> AnyCollection[GroupResource]:
        """Return the collections, including those whose objects have all been deleted."""
        return tuple(self._collections)

    def collection(self, group_resource: GroupResource) -> Collection:
        """Return a collection. It is created on first use."""
        collection = self._collections.get(group_resource)
        if collection is None:
            collection = Collection(history_size=self._history_size, floor=self._floor)
            self._collections[group_resource] = collection
        return collection

    def by_owner(self, uid: str) -> builtins.list[tuple[GroupResource, Object]]:
        """Return the objects with an owner reference to this uid."""
        return [(place[0], self._at(place)) for place in self._by_owner.get(uid, ())]

    def by_uid(self, uid: str) -> tuple[GroupResource, Object] | None:
        """Return the object with that uid."""
        place = self._by_uid.get(uid)
        return None if place is None else (place[0], self._at(place))

    def commit(self, changes: Iterable[Change]) -> None:
        """Apply changes to the state. Their resource versions must follow the newest one without a gap."""
        for change in changes:
            if change.rv != self._resource_version + 1:
                raise ValueError(f"{change} does not follow version {self._resource_version}")
            self._unindex(change)
            self.collection(change.group_resource).apply(change)
            self._resource_version = change.rv
            self._index(change)

    def compact(self, rv: int) -> None:
        """Make versions before rv unreadable, as etcd's compaction does. Continue tokens for them expire."""
        self._compacted = max(self._compacted, min(rv, self._resource_version))

    def expire(self, group_resource: GroupResource | None = None) -> None:
        """Empty the history of one collection or all, so that watches from older versions fail (Expired)."""
        chosen = self._collections.values() if group_resource is None else [self.collection(group_resource)]
        for collection in chosen:
            collection.history.forget(self._resource_version)
            collection.history.floor = self._resource_version

    def forget(self, rv: int) -> None:
        """Compact up to rv, and drop the changes up to rv from every history."""
        self.compact(rv)
        for collection in self._collections.values():
            collection.history.forget(rv)

    def redefine(self, group_resource: GroupResource) -> None:
        """End the watches of a kind that was redefined or removed. They cannot be resumed."""
        collection = self.collection(group_resource)
        collection.begin_again(self._resource_version)
        if not collection.objects:
            del self._collections[group_resource]
            self._floor = self._resource_version

    def snapshot(self) -> Snapshot:
        """Return the current version of every object."""
        return {name: dict(collection.objects) for name, collection in self._collections.items()}

    def changes_to(self, start: Snapshot) -> builtins.list[Change]:
        """Return the changes that restore the objects of a snapshot. They get new resource versions."""
        transaction = Transaction(self)
        for group_resource, collection in self._collections.items():
            for stored in collection.objects.values():
                metadata = stored.object["metadata"]
                namespace, name = metadata.get("namespace", ""), metadata["name"]
                if object_key(namespace, name) not in start.get(group_resource, {}):
                    transaction.delete(group_resource, namespace, name)
        for group_resource, objects in start.items():
            for key, stored in objects.items():
                if not _is_same(self.collection(group_resource).objects.get(key), stored):
                    transaction.put(group_resource, stored.object)
        return transaction.changes

    def rewind(self, rv: int) -> builtins.list[Change]:
        """
        Return to an older version, as if a backup were restored.

        Every watch ends. The resource versions after rv are then assigned again, to new changes.
        Returns: the changes that lead from the current state to rv, for the components that follow the state.
        These changes are not added to any history.
        Raises: ValueError if rv does not exist, or if a collection's history does not reach back to it.
        """
        if not FIRST_RESOURCE_VERSION <= rv <= self._resource_version:
            raise ValueError(f"version {rv} does not exist: the newest is {self._resource_version}")
        for group_resource, collection in self._collections.items():
            if collection.history.floor > rv and (collection.objects or collection.history.end):
                raise ValueError(f"version {rv} of {group_resource.plural} is forgotten")
        changes: builtins.list[Change] = []
        for group_resource, collection in self._collections.items():
            past = collection.until(rv)
            past.history.floor = min(past.history.floor, rv)  # later than rv only without objects and changes
            changes += _differences(group_resource, collection, past)
            self._collections[group_resource].become(past)
        for change in changes:
            self._unindex(change)
        for change in changes:
            self._index(change)
        self._resource_version = rv
        self._compacted = min(self._compacted, rv)
        self._floor = min(self._floor, rv)
        return changes

    def _at(self, place: _Place) -> Object:
        return self._collections[place[0]].objects[place[1]].object

    def _unindex(self, change: Change) -> None:
        if change.old is None:
            return
        place = (change.group_resource, change.key)
        metadata = change.old.object["metadata"]
        self._by_uid.pop(metadata.get("uid", ""), None)
        for owner in metadata.get("ownerReferences") or ():
            places = self._by_owner.get(owner.get("uid", ""))
            if places is not None:
                places.pop(place, None)
                if not places:
                    del self._by_owner[owner["uid"]]

    def _index(self, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            return
        place = (change.group_resource, change.key)
        metadata = change.new.object["metadata"]
        self._by_uid[metadata.get("uid", "")] = place
        for owner in metadata.get("ownerReferences") or ():
            self._by_owner.setdefault(owner.get("uid", ""), {})[place] = None


def _is_same(now: Stored | None, start: Stored) -> bool:
    """Return whether an object equals its initial version, apart from the resource version."""
    return now is start or (now is not None and _unversioned(now.object) == _unversioned(start.object))


def _unversioned(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}}


def _differences(group_resource: GroupResource, before: Collection, after: Collection) -> list[Change]:
    """Return the changes that convert the objects of one collection into those of another."""
    changes = []
    for key, old in before.objects.items():
        new = after.objects.get(key)
        if new is None:
            changes.append(Change(ChangeType.DELETED, group_resource, new=old, old=old))
        elif new is not old:
            changes.append(Change(ChangeType.MODIFIED, group_resource, new=new, old=old))
    gone = (stored for key, stored in after.objects.items() if key not in before.objects)
    return changes + [Change(ChangeType.ADDED, group_resource, new=new, old=None) for new in gone]
