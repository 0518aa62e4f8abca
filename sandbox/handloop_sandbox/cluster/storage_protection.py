"""
Protects storage from deletion while it is in use.

A deleted PersistentVolumeClaim remains while a pod uses it. A deleted PersistentVolume remains while it is
bound. A deleted VolumeAttributesClass remains while a claim or a volume refers to it.
A pod that is bound to a node uses its claims until the pod is removed, even if it has finished.
Follows: kubernetes pkg/controller/volume/pvcprotection and pvprotection. Differs: a finalizer that a client
has removed is not added again; claims of ephemeral volumes are ignored, because the sandbox does not create
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handloop_sandbox.cluster.cluster_controller import KeyedController, View, Write
from handloop_sandbox.cluster.workloads import PODS, finalizers_of, is_deleting, without_finalizer
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource

CLAIMS: Final = GroupResource("", "persistentvolumeclaims")
VOLUMES: Final = GroupResource("", "persistentvolumes")
ATTRIBUTES_CLASSES: Final = GroupResource("storage.k8s.io", "volumeattributesclasses")
PROTECTIONS: Final = {
    CLAIMS: "kubernetes.io/pvc-protection",
    VOLUMES: "kubernetes.io/pv-protection",
    ATTRIBUTES_CLASSES: "kubernetes.io/vac-protection",
}
"""The finalizer of each collection."""

_REACTION_SECONDS = 0.05
_Key = tuple[GroupResource, str, str]


class StorageProtectionController(KeyedController[_Key]):
    """Removes the protecting finalizer from deleted objects that are no longer in use."""

    interests: frozenset[GroupResource] | None = frozenset({*PROTECTIONS, PODS})

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        due = now + self._pace.seconds(_REACTION_SECONDS)
        if change.group_resource != PODS:
            self._dirty.mark((change.group_resource, change.namespace, change.name), due)
        if change.group_resource in {CLAIMS, VOLUMES} and change.type is ChangeType.DELETED:
            attributes = (change.new.object.get("spec") or {}).get("volumeAttributesClassName")
            self._dirty.mark((ATTRIBUTES_CLASSES, "", attributes or ""), due)
        elif change.group_resource == PODS and change.type is ChangeType.DELETED:
            for claim in _claims_of(change.new.object):
                self._dirty.mark((CLAIMS, change.namespace, claim), due)

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        del now
        obj, finalizer = view.state.get(*key), PROTECTIONS[key[0]]
        if obj is None or not is_deleting(obj) or finalizer not in finalizers_of(obj):
            return []
        if _is_used(view, key, obj):
            return []
        return [Write.of("update", key[0], without_finalizer(obj, finalizer))]


def _is_used(view: View, key: _Key, obj: Object) -> bool:
    group_resource, namespace, name = key
    if group_resource == VOLUMES:
        return bool((obj.get("status") or {}).get("phase") == "Bound")
    if group_resource == ATTRIBUTES_CLASSES:
        users = (*view.state.list(CLAIMS), *view.state.list(VOLUMES))
        return any((user.get("spec") or {}).get("volumeAttributesClassName") == name for user in users)
    pods = view.state.list(PODS, namespace)
    return any(pod["spec"].get("nodeName") and name in _claims_of(pod) for pod in pods)


def _claims_of(pod: Object) -> Iterator[str]:
    """Yield the names of the claims that a pod's volumes refer to."""
    for volume in pod["spec"].get("volumes") or ():
        claim = volume.get("persistentVolumeClaim")
        if claim:
            yield claim["claimName"]
