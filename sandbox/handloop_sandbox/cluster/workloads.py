"""The workload resources, and functions on their objects that several controllers use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handloop_sandbox.storage.owner_references import controller_of
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource

DEPLOYMENTS = GroupResource("apps", "deployments")
REPLICA_SETS = GroupResource("apps", "replicasets")
STATEFUL_SETS = GroupResource("apps", "statefulsets")
DAEMON_SETS = GroupResource("apps", "daemonsets")
REPLICATION_CONTROLLERS = GroupResource("", "replicationcontrollers")
JOBS = GroupResource("batch", "jobs")
CRON_JOBS = GroupResource("batch", "cronjobs")
PODS = GroupResource("", "pods")


def is_deleting(obj: Object) -> bool:
    """Return whether an object has been marked for deletion."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def finalizers_of(obj: Object) -> list[str]:
    """Return the finalizers of an object."""
    finalizers: list[str] = obj["metadata"].get("finalizers") or []
    return finalizers


def without_finalizer(obj: Object, name: str) -> Object:
    """Return a copy of an object without this finalizer. An empty list of finalizers is omitted."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "finalizers"}
    left = [finalizer for finalizer in finalizers_of(obj) if finalizer != name]
    return {**obj, "metadata": {**metadata, "finalizers": left} if left else metadata}


def spec_replicas(obj: Object) -> int:
    """Return the desired number of replicas, which is 1 by default."""
    wanted = obj["spec"].get("replicas")
    return 1 if wanted is None else int(wanted)


def status_count(obj: Object, field: str) -> int:
    """Return a counter in the status, or 0 if it is absent."""
    return int((obj.get("status") or {}).get(field) or 0)


def condition(obj: Object, condition_type: str) -> dict[str, Any] | None:
    """Return the condition of this type in the status, or None."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == condition_type), None)


def is_pod_ready(pod: Object) -> bool:
    """Return whether a pod's Ready condition is True."""
    ready = condition(pod, "Ready")
    return ready is not None and ready["status"] == "True"


def is_pod_finished(pod: Object) -> bool:
    """Return whether a pod has run to completion."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def is_pod_active(pod: Object) -> bool:
    """Return whether a pod counts as a replica: it is neither finished nor being deleted."""
    return not is_pod_finished(pod) and not is_deleting(pod)


MAX_GENERATIONS = 10  # a limit, because owner references can form a cycle


def lineage(state: State, pod: Object) -> Iterator[Object]:
    """
    Yield the pod and its controllers, nearest first.

    A ReplicaSet that a Deployment controls is skipped, because it may have annotations that were removed from
    the Deployment.
    """
    obj, place = pod, PODS
    for _ in range(MAX_GENERATIONS):
        owner = controller_of(obj)
        if place != REPLICA_SETS or owner is None:
            yield obj
        found = state.by_uid(owner["uid"]) if owner else None
        if found is None:
            return
        place, obj = found
