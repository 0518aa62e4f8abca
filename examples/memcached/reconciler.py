"""
Manage a Memcached's Deployment, status and deletion.

    Memcached <--controls-- Deployment <-- ReplicaSet <-- Pod
        ^_________________ label _________________________|
"""

from __future__ import annotations

from handloop import (
    Condition,
    Context,
    FrozenMap,
    Manager,
    NameTakenError,
    ObjectMeta,
    ObjectName,
    WaitError,
    add_finalizer,
    controller_for,
    is_being_deleted,
    is_controlled_by,
    object_name,
    remove_finalizer,
)
from handloop.kinds.apps_v1 import Deployment, DeploymentSpec
from handloop.kinds.core_v1 import Container, ContainerPort, Pod, PodSpec, PodTemplateSpec
from handloop.kinds.meta_v1 import LabelSelector

from .types import Memcached, MemcachedStatus

FINALIZER = "cache.example.com/nodes"
NAME = "cache.example.com/memcached"


def reconcile(memcached: Memcached, context: Context) -> None:
    """Create and update a Memcached's Deployment, and report the progress."""
    if is_being_deleted(memcached):
        _finalize(memcached, context)
        return
    memcached = add_finalizer(context.client.resource(Memcached), memcached, FINALIZER)
    try:
        deployment = context.apply(_new_deployment(memcached), owner=memcached)
    except (NameTakenError, WaitError) as error:
        # report the nodes even while the Deployment is being deleted, because they still run for a while
        reason = "NameTaken" if isinstance(error, NameTakenError) else "Waiting"
        _tell(memcached, context, reason, str(error))
        raise
    size, ready = memcached.spec.size, deployment.status.available_replicas or 0
    _tell(memcached, context, "Ready" if ready == size else "Waiting", f"{ready} of {size} nodes available")


def _finalize(memcached: Memcached, context: Context) -> None:
    """Delete Deployment and Pods before the Memcached. Each step depends only on the cluster's state."""
    deployment = context.lister_for(Deployment).get(object_name(memcached))
    if deployment is None or not is_controlled_by(deployment, memcached):
        remove_finalizer(context.client.resource(Memcached), memcached, FINALIZER)
    elif not is_being_deleted(deployment):
        there = deployment.metadata
        context.client.resource(Deployment).delete(
            there.name, namespace=there.namespace, uid=there.uid, propagation_policy="Foreground"
        )


def _new_deployment(memcached: Memcached) -> Deployment:
    labels = FrozenMap({NAME: memcached.metadata.name})
    ports = (ContainerPort(name="memcached", container_port=11211),)
    command = ("memcached", "-m=64", "-o", "modern", "-v")
    container = Container(name="memcached", image="memcached:1.6", command=command, ports=ports)
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=(container,)))
    selector = LabelSelector(match_labels=labels)
    spec = DeploymentSpec(replicas=memcached.spec.size, selector=selector, template=template)
    return Deployment.named(memcached, spec=spec)


def _tell(memcached: Memcached, context: Context, reason: str, message: str) -> None:
    pods = context.lister_for(Pod).by_index(NAME, str(object_name(memcached)))
    up = reason == "Ready"
    available = Condition(type="Available", status="True" if up else "False", reason=reason, message=message)
    # kstatus, and therefore `helm --wait` and Flux, use this condition
    moves = Condition(type="Reconciling", status="False" if up else "True", reason=reason)
    conditions = context.set_conditions(memcached, available, moves)
    nodes = tuple(sorted(pod.metadata.name for pod in pods))
    context.update_status(memcached, MemcachedStatus(nodes=nodes, conditions=conditions))


def _memcached_of(pod: Pod) -> tuple[ObjectName, ...]:
    name = pod.metadata.labels.get(NAME)
    return (ObjectName(pod.metadata.namespace, name),) if name else ()


def set_up(manager: Manager) -> None:
    """Add the controller. A label maps a Pod to its Memcached, which does not own the Pod directly."""
    manager.informer_for(Pod).add_indexers({NAME: lambda pod: [str(name) for name in _memcached_of(pod)]})
    builder = controller_for(manager, "memcached").for_(Memcached)
    builder.owns(Deployment).writes(Deployment, "create", "patch", "delete")
    builder.watches(Pod, _memcached_of)
    builder.writes(Memcached, "patch").writes(Memcached, "patch", subresource="status")
    builder.complete(reconcile)
