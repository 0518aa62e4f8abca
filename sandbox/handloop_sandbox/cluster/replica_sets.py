"""
The ReplicaSet controller. It maintains the wanted number of pods, and counts them in the status.

When there are too many pods, `doomed` chooses the ones to delete.
Follows: kubernetes pkg/controller/replicaset/{replica_set,replica_set_utils}.go,
pkg/controller/controller_utils.go (ActivePodsWithRanks). Differs: among equal pods the youngest is deleted
first; upstream chooses at random between pods of about the same age.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from handloop_sandbox.cluster.adoption import controlled
from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.cluster.pod_owners import Failure, Key, PodOwnerController, new_pod
from handloop_sandbox.cluster.workloads import (
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    condition,
    is_deleting,
    is_pod_active,
    is_pod_finished,
    is_pod_ready,
    spec_replicas,
)
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.owner_references import controller_of
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.resource import GroupResource

_BURST = 500  # maximum of pods created or deleted per sync, like kube-controller-manager's BurstReplicas


class ReplicaSetController(PodOwnerController):
    """Syncs a ReplicaSet when it or one of its pods has changed."""

    collection = REPLICA_SETS
    kind = "ReplicaSet"
    component = "replicaset-controller"
    interests: frozenset[GroupResource] | None = frozenset({REPLICA_SETS, PODS})

    def _sync(self, view: View, key: Key, now: float) -> list[Write]:
        replica_set = view.state.get(self.collection, *key)
        if replica_set is None:
            return []
        claimed = self._claimed(view, replica_set)
        active = [pod for pod in claimed.objects if is_pod_active(pod)]
        writes = claimed.writes
        failure = self._failure(key, missing=spec_replicas(replica_set) - len(active), now=now)
        if not is_deleting(replica_set) and (failure is None or failure.retry_at <= now):
            writes += self._adjust(view, replica_set, active, now)
        writes += self._tell_failure(view, replica_set, failure, now)
        return writes + self._status(replica_set, active, claimed.objects, failure, now)

    def _adjust(self, view: View, replica_set: Object, active: Sequence[Object], now: float) -> list[Write]:
        excess = len(active) - spec_replicas(replica_set)
        template = replica_set["spec"]["template"]
        writes = [self._create(new_pod(view, replica_set, template)) for _ in range(min(-excess, _BURST))]
        if excess > 0:
            for pod in doomed(active, min(excess, _BURST), _related(view, replica_set)):
                writes += self._delete(view, replica_set, pod, now)
        return writes

    def _status(
        self,
        replica_set: Object,
        active: Sequence[Object],
        claimed: Sequence[Object],
        failure: Failure | None,
        now: float,
    ) -> list[Write]:
        status = _counted(
            replica_set,
            active,
            available=len(self._available(replica_set, active, now)),
            terminating=sum(is_deleting(pod) and not is_pod_finished(pod) for pod in claimed),
            failure=(failure.reason, failure.message) if failure else None,
            now=now,
        )
        return self._put_status(replica_set, status)


class ReplicationControllerController(ReplicaSetController):
    """Syncs ReplicationControllers. Their selector is a map, and their status has no terminatingReplicas."""

    collection = REPLICATION_CONTROLLERS
    kind = "ReplicationController"
    component = "replication-controller"
    interests: frozenset[GroupResource] | None = frozenset({REPLICATION_CONTROLLERS, PODS})

    @staticmethod
    def selector_of(owner: Object) -> Mapping[str, Any] | None:
        """Return the label selector of an owner."""
        return {"matchLabels": owner["spec"].get("selector") or {}}

    def _put_status(self, owner: Object, status: Mapping[str, Any]) -> list[Write]:
        kept = {field: value for field, value in status.items() if field != "terminatingReplicas"}
        return super()._put_status(owner, kept)


def _related(view: View, replica_set: Object) -> list[Object]:
    """Return the active pods of all ReplicaSets that belong to the same Deployment."""
    owner = controller_of(replica_set)
    siblings = [replica_set]
    if owner is not None:
        siblings = [obj for place, obj in view.state.by_owner(owner["uid"]) if place == REPLICA_SETS]
    return [
        pod for sibling in siblings for pod in controlled(view.state, sibling, PODS) if is_pod_active(pod)
    ]


def _counted(
    replica_set: Object,
    active: Sequence[Object],
    *,
    available: int,
    terminating: int,
    failure: tuple[str, str] | None,
    now: float,
) -> dict[str, Any]:
    """
    Return the status with the counts of active pods.

    failure is the (reason, message) of a refused create, or None.
    """
    labels = replica_set["spec"]["template"]["metadata"].get("labels") or {}
    counters = {
        "fullyLabeledReplicas": sum(
            matches({"matchLabels": labels}, pod["metadata"].get("labels")) for pod in active
        ),
        "readyReplicas": sum(is_pod_ready(pod) for pod in active),
        "availableReplicas": available,
    }
    return {
        "replicas": len(active),
        **{field: value for field, value in counters.items() if value},
        "terminatingReplicas": terminating,
        "observedGeneration": replica_set["metadata"].get("generation", 0),
        **_conditions(replica_set.get("status") or {}, failure, now),
    }


def _conditions(status: Mapping[str, Any], failure: tuple[str, str] | None, now: float) -> dict[str, Any]:
    conditions = status.get("conditions") or []
    present = next((entry for entry in conditions if entry["type"] == "ReplicaFailure"), None)
    if failure and present and present["reason"] == failure[0]:
        return {"conditions": conditions}
    kept = [entry for entry in conditions if entry is not present]
    if failure:
        reason, message = failure
        stamp = {
            "status": "True",
            "lastTransitionTime": format_time(now),
            "reason": reason,
            "message": message,
        }
        kept.append({"type": "ReplicaFailure", **stamp})
    return {"conditions": kept} if kept else {}


DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_LATEST = "~"  # sorts after every time; stands for the time that a user's condition lacks
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def doomed(pods: Sequence[Object], count: int, related: Sequence[Object]) -> list[Object]:
    """Return the pods to delete, least valuable first. related holds all pods of the same Deployment."""
    crowd = Counter(node for pod in related if (node := pod["spec"].get("nodeName")))
    youngest_first = sorted(pods, key=lambda pod: pod["metadata"]["name"])
    youngest_first.sort(key=_times, reverse=True)
    return sorted(youngest_first, key=lambda pod: _value(pod, crowd))[:count]


def _value(pod: Object, crowd: Counter[str]) -> tuple[Any, ...]:
    """
    Return a sort key for a pod's value.

    A pod is more valuable if it is bound to a node, running or ready, if its deletion cost is higher, if
    fewer pods of the Deployment share its node, or if it has fewer restarts. Earlier criteria win.
    """
    node = pod["spec"].get("nodeName", "")
    status = pod.get("status") or {}
    restarts = max((entry["restartCount"] for entry in status.get("containerStatuses") or ()), default=0)
    return (
        bool(node),
        _PHASES.get(status.get("phase", ""), 1),
        is_pod_ready(pod),
        _deletion_cost(pod),
        -crowd[node],
        -restarts,
    )


def _deletion_cost(pod: Object) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _times(pod: Object) -> tuple[str, str]:
    ready = condition(pod, "Ready")
    since = (ready["lastTransitionTime"] or _LATEST) if ready and ready["status"] == "True" else ""
    return since, pod["metadata"]["creationTimestamp"]
