"""
The garbage collector, which handles the dependents of deleted owners.

Background deletion: an object is deleted after all its owners. Foreground deletion: an owner is deleted after
the dependents that block it. Orphaning: the dependents remain, without the owner reference. An owner is found
by the reference's kind, namespace and name, and must have the reference's UID.
Follows: kubernetes pkg/controller/garbagecollector/garbagecollector.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from handloop_sandbox.cluster.cluster_controller import Pace, Step, View, Write
from handloop_sandbox.cluster.dirty_keys import DirtyKeys
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.workloads import finalizers_of, is_deleting, without_finalizer
from handloop_sandbox.storage.owner_references import references, with_references, without_owners
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

_REACTION_SECONDS = 0.02
_RETRY_SECONDS = 1.0
_REMEMBERED_OWNERS = 10_000


class _Place(NamedTuple):
    group_resource: GroupResource
    namespace: str
    name: str


class _Owner(Enum):
    """The state of an owner. The object is left alone if one of its owners is UNKNOWN."""

    SOLID = auto()
    ABSENT = auto()
    WAITING = auto()
    UNKNOWN = auto()


class GarbageCollector:
    """
    Handles objects whose owners have changed, and owners that wait for their dependents.

    State: _gone holds the UIDs of deleted owners, oldest first. The collector uses them to know that
    an owner is gone even if its kind has been deleted, too.
    """

    name = "kube-controller-manager"
    interests: frozenset[GroupResource] | None = None

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._dirty: DirtyKeys[_Place] = DirtyKeys()
        self._gone: dict[str, None] = {}
        self._recorder = ComponentEventRecorder("garbage-collector-controller")

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Record the objects that the changes affect, and handle every object that is due."""
        writes: list[Write] = []
        for change in changes:
            for place in self._concerned(view, change):
                self._dirty.mark(place, now + self._pace.seconds(_REACTION_SECONDS))
            writes += self._complaints(view, change, now)
        for place in self._dirty.take(now):
            obj = view.state.get(*place)
            if obj is not None:
                writes += self._decide(view, place, obj, now)
        return Step(writes, self._dirty.next_wake())

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Handle the object again later, because it has changed in the meantime."""
        del status
        place = _Place(write.group_resource, write.namespace, write.name)
        if write.name:
            self._dirty.mark(place, now + self._pace.seconds(_RETRY_SECONDS))

    def _concerned(self, view: View, change: Change) -> Iterator[_Place]:
        """Yield the objects that a change can affect."""
        obj = change.new.object
        uid = obj["metadata"]["uid"]
        if change.type is ChangeType.DELETED:
            dependents = view.state.by_owner(uid)
            if dependents:
                self._remember(uid)
            yield from (_place(*dependent) for dependent in dependents)
            yield from _waiting_owners(view, obj)
            return
        if is_deleting(obj) and {FOREGROUND, ORPHAN} & set(finalizers_of(obj)):
            yield _Place(change.group_resource, change.namespace, change.name)
        before = references(change.old.object) if change.old else []
        if references(obj) != before:
            if change.old is not None:
                yield from _waiting_owners(view, change.old.object)
            if any(self._judge(view, obj, owner) is not _Owner.SOLID for owner in references(obj)):
                yield _Place(change.group_resource, change.namespace, change.name)

    def _remember(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > _REMEMBERED_OWNERS:
            del self._gone[next(iter(self._gone))]

    def _judge(self, view: View, obj: Object, reference: dict[str, Any]) -> _Owner:
        if reference["uid"] in self._gone:
            return _Owner.ABSENT
        group, _, version = reference["apiVersion"].rpartition("/")
        resource = view.catalog.by_kind(group, version, reference["kind"])
        namespace = obj["metadata"].get("namespace", "")
        if resource is None or (resource.namespaced and not namespace):
            return _Owner.UNKNOWN
        owner = view.state.get(
            resource.group_resource, namespace if resource.namespaced else "", reference["name"]
        )
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            return _Owner.ABSENT
        return _Owner.WAITING if _waits_for_dependents(owner) else _Owner.SOLID

    def _decide(self, view: View, place: _Place, obj: Object, now: float) -> list[Write]:
        if is_deleting(obj):
            return self._release(view, place, obj, now)
        judged = [(owner, self._judge(view, obj, owner)) for owner in references(obj)]
        verdicts = {verdict for _, verdict in judged}
        if not judged or _Owner.UNKNOWN in verdicts:
            return []
        if _Owner.SOLID in verdicts:
            lost = {owner["uid"] for owner, verdict in judged if verdict is not _Owner.SOLID}
            return [Write.of("update", place.group_resource, without_owners(obj, lost))] if lost else []
        dependents = view.state.by_owner(obj["metadata"]["uid"])
        if _Owner.WAITING in verdicts and dependents:
            return [
                *_unblock(place, obj, dependents),
                Write.of("delete", place.group_resource, obj, propagation="Foreground"),
            ]
        return [Write.of("delete", place.group_resource, obj, propagation=_policy(obj))]

    def _release(self, view: View, place: _Place, obj: Object, now: float) -> list[Write]:
        """Handle an owner that is being deleted: orphan its dependents, or wait for them."""
        uid = obj["metadata"]["uid"]
        dependents = view.state.by_owner(uid)
        if ORPHAN in finalizers_of(obj):
            freed = [
                Write.of("update", collection, without_owners(child, {uid}))
                for collection, child in dependents
            ]
            if any(_may_fail(view, collection) for collection, _ in dependents):
                self._dirty.mark(place, now + self._pace.seconds(_REACTION_SECONDS))
                return freed
            return [*freed, Write.of("update", place.group_resource, without_finalizer(obj, ORPHAN))]
        if FOREGROUND not in finalizers_of(obj):
            return []
        if not any(_blocks(child, uid) for _, child in dependents):
            return [Write.of("update", place.group_resource, without_finalizer(obj, FOREGROUND))]
        for child in dependents:
            if not is_deleting(child[1]):
                self._dirty.mark(_place(*child), now)
        return []

    def _complaints(self, view: View, change: Change, now: float) -> Iterator[Write]:
        """
        Record an Event for each owner in another namespace.

        Kubernetes treats such an owner as absent, so the new object will be deleted.
        """
        obj = change.new.object
        if change.type is not ChangeType.ADDED:
            return
        for owner in references(obj):
            found = view.state.by_uid(owner["uid"])
            home = found[1]["metadata"].get("namespace", "") if found else ""
            if home and home != change.namespace:
                text = _invalid_namespace(owner, change.namespace)
                yield self._recorder.event(
                    view, obj, kind="Warning", reason="OwnerRefInvalidNamespace", message=text, now=now
                )


def _place(group_resource: GroupResource, obj: Object) -> _Place:
    metadata = obj["metadata"]
    return _Place(group_resource, metadata.get("namespace", ""), metadata["name"])


def _invalid_namespace(owner: dict[str, Any], namespace: str) -> str:
    kind = f"{owner['apiVersion']}/{owner['kind']}"
    coordinates = f"{kind}, namespace: {namespace}, name: {owner['name']}, uid: {owner['uid']}"
    return f'ownerRef [{coordinates}] does not exist in namespace "{namespace}"'


def _waits_for_dependents(obj: Object) -> bool:
    return is_deleting(obj) and FOREGROUND in finalizers_of(obj)


def _waiting_owners(view: View, obj: Object) -> Iterator[_Place]:
    for reference in references(obj):
        owner = view.state.by_uid(reference["uid"])
        if owner is not None and _waits_for_dependents(owner[1]):
            yield _place(*owner)


def _blocks(obj: Object, uid: str) -> bool:
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in references(obj))


def _may_fail(view: View, collection: GroupResource) -> bool:
    """Return whether writes can fail because of a webhook. If so, the owner waits until all succeed."""
    resource = view.catalog.storage(collection)
    return resource is not None and resource.conversion is not None


def _policy(obj: Object) -> str:
    if ORPHAN in finalizers_of(obj):
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers_of(obj) else "Background"


def _unblock(place: _Place, obj: Object, dependents: Sequence[tuple[GroupResource, Object]]) -> list[Write]:
    """Stop an object from blocking its owners, because objects that block each other would wait forever."""
    if not any(_waits_for_dependents(child) for _, child in dependents):
        return []
    owners = [{**owner, "blockOwnerDeletion": False} for owner in references(obj)]
    return [Write.of("update", place.group_resource, with_references(obj, owners))]
