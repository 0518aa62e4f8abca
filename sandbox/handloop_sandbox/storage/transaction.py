"""The changes of one request. The request reads its own writes, and the state changes only at the commit."""

from __future__ import annotations

from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object, Stored, object_key
from handloop_sandbox.wire.resource import GroupResource


class Transaction:
    """
    The changes of one request, in order, with the resource versions that they will have in the store.

    A dry run records no changes, and objects keep their resource versions.
    """

    def __init__(self, state: State, *, dry_run: bool = False) -> None:
        self.state = state
        self.dry_run = dry_run
        self.changes: list[Change] = []
        self._written: dict[tuple[GroupResource, str], Stored | None] = {}

    def stored(self, group_resource: GroupResource, namespace: str, name: str) -> Stored | None:
        """Return the object after the changes made so far, or None."""
        place = (group_resource, object_key(namespace, name))
        if place in self._written:
            return self._written[place]
        return self.state.stored(group_resource, namespace, name)

    def get(self, group_resource: GroupResource, namespace: str, name: str) -> Object | None:
        """Return the object that stored() finds, or None."""
        stored = self.stored(group_resource, namespace, name)
        return None if stored is None else stored.object

    def put(self, group_resource: GroupResource, obj: Object) -> Stored:
        """Add or replace an object. The caller must not modify obj afterwards."""
        metadata = obj["metadata"]
        old = self.stored(group_resource, metadata.get("namespace", ""), metadata["name"])
        if self.dry_run:
            return Stored(obj, old.rv if old else 0)
        stored = self._versioned(obj)
        kind = ChangeType.ADDED if old is None else ChangeType.MODIFIED
        self._record(Change(kind, group_resource, new=stored, old=old))
        return stored

    def delete(self, group_resource: GroupResource, namespace: str, name: str) -> Stored:
        """Remove an existing object. Returns: its last state, with the resource version of the deletion."""
        old = self.stored(group_resource, namespace, name)
        if old is None:
            raise KeyError(f"{group_resource} {object_key(namespace, name)}")
        if self.dry_run:
            return old
        last = self._versioned(old.object)
        self._record(Change(ChangeType.DELETED, group_resource, new=last, old=old))
        return last

    def _versioned(self, obj: Object) -> Stored:
        rv = self.state.resource_version + len(self.changes) + 1
        return Stored({**obj, "metadata": {**obj["metadata"], "resourceVersion": str(rv)}}, rv)

    def _record(self, change: Change) -> None:
        self.changes.append(change)
        gone = change.type is ChangeType.DELETED
        self._written[change.group_resource, change.key] = None if gone else change.new
