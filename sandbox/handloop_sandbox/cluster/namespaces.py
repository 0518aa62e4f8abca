"""
Fills new namespaces, and empties namespaces that are being deleted.

The pods are deleted first, then everything else. Conditions report the objects that remain and the finalizers
that preserve them. When the namespace is empty, the controller removes the finalizer `kubernetes`, and the
namespace is deleted.
Follows: kubernetes pkg/controller/namespace/deletion, pkg/controller/serviceaccount and
pkg/controller/certificates/rootcacertpublisher.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.workloads import PODS, is_deleting
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource, ServedResource
from handloop_sandbox.wire.status import Status

NAMESPACES = GroupResource("", "namespaces")
SERVICE_ACCOUNTS = GroupResource("", "serviceaccounts")
CONFIG_MAPS = GroupResource("", "configmaps")

FINALIZER = "kubernetes"
ROOT_CA = "kube-root-ca.crt"

_REACTION_SECONDS = 0.1
_RETRY_SECONDS = 1.0
_FAILED = 500
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)


class _Content(NamedTuple):
    resource: ServedResource
    objects: list[Object]


class NamespaceController(KeyedController[str]):
    """
    Fills active namespaces, and empties those that are being deleted.

    State: _terminating holds the names of namespaces that are being deleted. _failures holds, by namespace,
    the error from a failed deletion there.
    """

    interests: frozenset[GroupResource] | None = None

    def __init__(self, pace: Pace, *, root_ca: str = "") -> None:
        super().__init__(pace)
        self._root_ca = root_ca
        self._terminating: set[str] = set()
        self._failures: dict[str, str] = {}

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Sync the namespace again later."""
        name = write.namespace or write.name
        if write.verb == "delete" and status["code"] == _FAILED:
            self._failures[name] = status["message"]
        self._dirty.mark(name, now + self._pace.seconds(_RETRY_SECONDS))

    def _sync(self, view: View, key: str, now: float) -> Iterable[Write]:
        namespace = view.state.get(NAMESPACES, "", key)
        if namespace is None:
            return []
        if not is_deleting(namespace):
            return self._equip(view, key)
        return _empty(view, namespace, now, failure=self._failures.pop(key, ""))

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        if change.group_resource == NAMESPACES:
            self._observe_namespace(change, now)
        elif change.namespace in self._terminating or _is_equipment(change):
            self._dirty.mark(change.namespace, now + self._pace.seconds(_REACTION_SECONDS))

    def _observe_namespace(self, change: Change, now: float) -> None:
        if change.type is ChangeType.DELETED:
            self._terminating.discard(change.name)
            self._dirty.drop(change.name)
        elif is_deleting(change.new.object):
            self._terminating.add(change.name)
            self._dirty.mark(change.name, now + self._pace.seconds(_REACTION_SECONDS))
        elif change.type is ChangeType.ADDED:
            self._dirty.mark(change.name, now)

    def _equip(self, view: View, namespace: str) -> Iterator[Write]:
        """Create the default service account and the ConfigMap of root certificates if they are missing."""
        if view.state.get(CONFIG_MAPS, namespace, ROOT_CA) is None:
            metadata = {"annotations": {"kubernetes.io/description": _DESCRIPTION}}
            yield _create(
                CONFIG_MAPS, "ConfigMap", namespace, ROOT_CA, metadata, data={"ca.crt": self._root_ca}
            )
        if view.state.get(SERVICE_ACCOUNTS, namespace, "default") is None:
            yield _create(SERVICE_ACCOUNTS, "ServiceAccount", namespace, "default", {})


def _is_equipment(change: Change) -> bool:
    if change.type is not ChangeType.DELETED:
        return False
    return (change.group_resource, change.name) in ((CONFIG_MAPS, ROOT_CA), (SERVICE_ACCOUNTS, "default"))


def _create(
    group_resource: GroupResource,
    kind: str,
    namespace: str,
    name: str,
    metadata: dict[str, Any],
    **fields: Any,
) -> Write:
    obj = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        **fields,
    }
    return Write.of("create", group_resource, obj)


def _empty(view: View, namespace: Object, now: float, *, failure: str) -> list[Write]:
    """
    Delete the contents of a namespace. Once it is empty, remove its finalizer.

    Args: failure is the error from the last attempt, or "" if it succeeded.
    """
    name = namespace["metadata"]["name"]
    content = list(_content(view, name))
    pods = [part for part in content if part.resource.group_resource == PODS]
    deletions = [write for part in pods or content for write in _deletions(part)]
    if failure:
        failed = _with_conditions(namespace, (), now, failure=failure)
        return [*_status_update(namespace, failed), *deletions]
    if deletions:
        return deletions
    updated = _with_conditions(namespace, content, now)
    writes = _status_update(namespace, updated)
    if not content and FINALIZER in (namespace["spec"].get("finalizers") or ()):
        left = [finalizer for finalizer in namespace["spec"]["finalizers"] if finalizer != FINALIZER]
        released = {**updated, "spec": {**updated["spec"], "finalizers": left}}
        writes.append(Write.of("update", NAMESPACES, released, subresource="finalize"))
    return writes


def _status_update(namespace: Object, updated: Object) -> list[Write]:
    if updated["status"] == namespace.get("status"):
        return []
    return [Write.of("update", NAMESPACES, updated, subresource="status")]


def _content(view: View, namespace: str) -> Iterator[_Content]:
    for group_resource in sorted(view.state.group_resources()):
        resource = view.catalog.storage(group_resource)
        if resource is None or not resource.namespaced:
            continue
        objects = view.state.list(group_resource, namespace)
        if objects:
            yield _Content(resource, objects)


def _deletions(content: _Content) -> Iterator[Write]:
    for obj in content.objects:
        if not is_deleting(obj):
            yield Write.of("delete", content.resource.group_resource, obj, propagation="Background")


def _with_conditions(
    namespace: Object, content: Sequence[_Content], now: float, *, failure: str = ""
) -> Object:
    status = namespace.get("status") or {}
    before = {entry["type"]: entry for entry in status.get("conditions") or ()}
    conditions = []
    for kind, holds, reason, message in _findings(content, failure):
        said = {"type": kind, "status": str(holds), "reason": reason, "message": message}
        known = before.get(kind, {})
        same = all(known.get(field) == value for field, value in said.items())
        stamp = known["lastTransitionTime"] if same else format_time(now)
        conditions.append({**said, "lastTransitionTime": stamp})
    return {**namespace, "status": {**status, "conditions": conditions}}


def _findings(content: Sequence[_Content], failure: str) -> Iterator[tuple[str, bool, str, str]]:
    yield (
        "NamespaceDeletionDiscoveryFailure",
        False,
        "ResourcesDiscovered",
        "All resources successfully discovered",
    )
    yield (
        "NamespaceDeletionGroupVersionParsingFailure",
        False,
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    )
    text = "All content successfully deleted, may be waiting on finalization"
    if failure:
        text = f"Failed to delete all resource types, 1 remaining: {failure}"
    reason = "ContentDeletionFailed" if failure else "ContentDeleted"
    yield "NamespaceDeletionContentFailure", bool(failure), reason, text
    if not content:
        yield "NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed"
    else:
        yield "NamespaceContentRemaining", True, "SomeResourcesRemain", _remaining(content)
    held = _finalizers(content)
    if not held:
        message = "All content-preserving finalizers finished"
        yield "NamespaceFinalizersRemaining", False, "ContentHasNoFinalizers", message
    else:
        message = f"Some content in the namespace has finalizers remaining: {held}"
        yield "NamespaceFinalizersRemaining", True, "SomeFinalizersRemain", message


def _remaining(content: Sequence[_Content]) -> str:
    listed = sorted(
        f"{part.resource.plural}.{part.resource.group} has {len(part.objects)} resource instances"
        for part in content
    )
    return f"Some resources are remaining: {', '.join(listed)}"


def _finalizers(content: Sequence[_Content]) -> str:
    count = Counter(
        finalizer
        for part in content
        for obj in part.objects
        for finalizer in obj["metadata"].get("finalizers") or ()
    )
    return ", ".join(
        f"{finalizer} in {number} resource instances" for finalizer, number in sorted(count.items())
    )
