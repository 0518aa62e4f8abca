"""
Keep exactly as many Pods running as an AppCluster specifies.

    AppCluster <--controls-- Pod
"""

from __future__ import annotations

from handloop import (
    Condition,
    Context,
    FrozenMap,
    Manager,
    ObjectMeta,
    controller_for,
    controller_of,
    is_being_deleted,
    with_controller,
)
from handloop.kinds.core_v1 import Container, Pod, PodSpec

from .types import AppCluster, AppClusterStatus

OWNER = "demo.demo.io/owner"
ENDED = ("Succeeded", "Failed")


def reconcile(cluster: AppCluster, context: Context) -> None:
    """Create missing Pods, delete surplus ones, and report how many are ready."""
    if is_being_deleted(cluster):
        return
    client = context.client.resource(Pod)
    pods = context.lister_for(Pod).by_index(OWNER, cluster.metadata.uid)
    pods = [pod for pod in pods if not is_being_deleted(pod)]
    alive = sorted((pod for pod in pods if pod.status.phase not in ENDED), key=last_to_go_first)
    kept = alive[: cluster.spec.size]
    for _ in range(cluster.spec.size - len(kept)):
        client.create(with_controller(_new_pod(cluster), cluster))
    for there in (pod.metadata for pod in pods if pod not in kept):
        client.delete(there.name, namespace=there.namespace, uid=there.uid)
    ready, size = sum(map(_is_ready, kept)), cluster.spec.size
    up = Condition(type="Ready", status="True" if ready == size else "False", reason="Counted")
    conditions = context.set_conditions(cluster, up)
    context.update_status(cluster, AppClusterStatus(ready=ready, conditions=conditions))


def last_to_go_first(pod: Pod) -> tuple[bool, str, str]:
    """Return a key that sorts ready Pods first, and older before newer ones. The last are deleted first."""
    return (not _is_ready(pod), pod.metadata.creation_timestamp or "", pod.metadata.name)


def _is_ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def _new_pod(cluster: AppCluster) -> Pod:
    there = cluster.metadata
    labels = FrozenMap({"app": there.name})
    container = Container(name="app", image="busybox:1.37", command=("sleep", "infinity"))
    metadata = ObjectMeta(generate_name=f"{there.name}-", namespace=there.namespace, labels=labels)
    return Pod(metadata=metadata, spec=PodSpec(containers=(container,)))


def _owner_uids(pod: Pod) -> list[str]:
    owner = controller_of(pod)
    return [owner.uid] if owner else []


def set_up(manager: Manager) -> None:
    """Add the controller, and an index that finds Pods by their owner."""
    manager.informer_for(Pod).add_indexers({OWNER: _owner_uids})
    builder = controller_for(manager, "appcluster").for_(AppCluster)
    builder.owns(Pod).writes(Pod, "create", "delete")
    builder.writes(AppCluster, "patch", subresource="status").complete(reconcile)
