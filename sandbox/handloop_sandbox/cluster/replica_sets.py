"""
The ReplicaSet controller: as many pods as wanted, and a status that counts them.

When there are too many pods, `doomed` chooses which to delete.
Follows: kubernetes pkg/controller/replicaset/{replica_set,replica_set_utils}.go,
pkg/controller/controller_utils.go (ActivePodsWithRanks). Differs: among equal pods the youngest is deleted
first; upstream chooses at random between pods of about the same age.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handloop.apis.meta import format_time, parse_time
from handloop_sandbox.cluster.adoption import Orphans, claim, controlled
from handloop_sandbox.cluster.cluster_controller import Pace, Step, View, Write
from handloop_sandbox.cluster.dirty_keys import DirtyKeys
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.workloads import (
    PODS,
    REPLICA_SETS,
    condition,
    is_deleting,
    is_pod_active,
    is_pod_finished,
    is_pod_ready,
    spec_replicas,
)
from handloop_sandbox.storage.owner_references import controller_of, controller_reference
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

_REACTION_SECONDS = 0.05
_RETRY_SECONDS = 1.0  # doubles with each refusal in a row
_MAX_RETRY_SECONDS = 60.0
_BURST = 500  # pods created or deleted in one look, as kube-controller-manager's BurstReplicas

_Key = tuple[str, str]


@dataclass(slots=True)
class _Failure:
    """Why pods cannot be created; told = an Event about the latest refusal was recorded."""

    reason: str
    message: str
    retry_at: float
    refusals: int
    told: bool = False


class ReplicaSetController:
    """
    Steps ReplicaSets when they or their pods have changed.

    State: _dirty has the (namespace, name) of ReplicaSets to look at. _ready_since has when each pod became
    ready, by uid, finer than the seconds in the object. _failures has why pods could not be created, by
    ReplicaSet. _expected has the pods under way; their SuccessfulCreate Event is recorded once they exist.
    """

    name = "kube-controller-manager"
    interests: frozenset[GroupResource] | None = frozenset({REPLICA_SETS, PODS})

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._dirty: DirtyKeys[_Key] = DirtyKeys()
        self._orphans = Orphans(PODS)
        self._ready_since: dict[str, float] = {}
        self._failures: dict[_Key, _Failure] = {}
        self._expected: set[_Key] = set()
        self._recorder = ComponentEventRecorder("replicaset-controller")

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Look at every ReplicaSet that is due."""
        writes: list[Write] = []
        for change in changes:
            self._observe(view, change, now)
            writes += self._welcome(view, change, now)
        for key in self._dirty.take(now):
            writes += self._sync(view, key, now)
        return Step(writes, self._dirty.next_wake())

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Look again. If a pod may not be created, the ReplicaFailure condition reports it."""
        owner = controller_of(write.object) if write.object and "metadata" in write.object else None
        if write.group_resource != PODS or owner is None:
            return
        key = (write.namespace, owner["name"])
        if write.verb != "create":
            self._dirty.mark(key, now + self._pace.seconds(_RETRY_SECONDS))
            return
        self._expected.discard((write.namespace, write.name))
        known = self._failures.get(key)
        if known is None or known.retry_at <= now:  # the first refusal of a batch speaks for all
            refusals = known.refusals + 1 if known else 0
            pause = self._pace.seconds(min(_RETRY_SECONDS * 2**refusals, _MAX_RETRY_SECONDS))
            self._failures[key] = _Failure("FailedCreate", status["message"], now + pause, refusals)
            self._dirty.mark(key, now)

    def _observe(self, view: View, change: Change, now: float) -> None:
        due = now + self._pace.jittered(_REACTION_SECONDS, view.random)
        if change.group_resource == REPLICA_SETS:
            if change.type is ChangeType.DELETED:
                self._failures.pop((change.namespace, change.name), None)
            else:
                self._dirty.mark((change.namespace, change.name), due)
            return
        self._note_readiness(change, now)
        for version in (change.new, change.old):
            owner = controller_of(version.object) if version else None
            if owner is not None and owner["kind"] == "ReplicaSet":
                self._dirty.mark((change.namespace, owner["name"]), due)
        if self._orphans.observe(change):
            for replica_set in view.state.list(REPLICA_SETS, change.namespace):
                if matches(replica_set["spec"]["selector"], change.new.object["metadata"].get("labels")):
                    self._dirty.mark((change.namespace, replica_set["metadata"]["name"]), due)

    def _note_readiness(self, change: Change, now: float) -> None:
        uid = change.new.object["metadata"]["uid"]
        ready = condition(change.new.object, "Ready")
        if change.type is ChangeType.DELETED or ready is None or ready["status"] != "True":
            self._ready_since.pop(uid, None)
        elif change.type is ChangeType.ADDED:  # it is older than this controller
            self._ready_since[uid] = parse_time(ready["lastTransitionTime"])
        else:
            self._ready_since.setdefault(uid, now)

    def _welcome(self, view: View, change: Change, now: float) -> list[Write]:
        key = (change.namespace, change.name)
        if change.group_resource != PODS or key not in self._expected:
            return []
        self._expected.discard(key)
        owner = controller_of(change.new.object)
        replica_set = view.state.get(REPLICA_SETS, change.namespace, owner["name"]) if owner else None
        if replica_set is None:
            return []
        return [self._tell(view, replica_set, "SuccessfulCreate", f"Created pod: {change.name}", now)]

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        replica_set = view.state.get(REPLICA_SETS, *key)
        if replica_set is None:
            return []
        claimed = claim(
            replica_set,
            PODS,
            [*controlled(view.state, replica_set, PODS), *self._orphans.among(view.state, key[0])],
        )
        active = [pod for pod in claimed.objects if is_pod_active(pod)]
        writes = claimed.writes
        failure = self._failure(key, missing=spec_replicas(replica_set) - len(active), now=now)
        if not is_deleting(replica_set) and (failure is None or failure.retry_at <= now):
            writes += self._adjust(view, replica_set, active, now)
        if failure is not None and not failure.told:
            failure.told = True
            message = f"Error creating: {failure.message}"
            writes.append(self._tell(view, replica_set, failure.reason, message, now))
        return writes + self._status(replica_set, active, claimed.objects, failure, now)

    def _failure(self, key: _Key, *, missing: int, now: float) -> _Failure | None:
        """The failure that keeps pods from being created. It is over when no pod is missing any more."""
        failure = self._failures.get(key)
        if failure is None or missing > 0:
            if failure is not None and failure.retry_at > now:
                self._dirty.mark(key, failure.retry_at)
            return failure
        del self._failures[key]
        return None

    def _adjust(self, view: View, replica_set: Object, active: Sequence[Object], now: float) -> list[Write]:
        excess = len(active) - spec_replicas(replica_set)
        writes: list[Write] = []
        for _ in range(min(-excess, _BURST)):
            pod = _new_pod(view, replica_set)
            self._expected.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))
            writes.append(Write.of("create", PODS, pod))
        if excess > 0:
            for pod in doomed(active, min(excess, _BURST), _related(view, replica_set)):
                message = f"Deleted pod: {pod['metadata']['name']}"
                writes += [
                    Write.of("delete", PODS, pod, propagation="Background"),
                    self._tell(view, replica_set, "SuccessfulDelete", message, now),
                ]
        return writes

    def _tell(self, view: View, about: Object, reason: str, message: str, now: float) -> Write:
        kind = "Warning" if reason.startswith("Failed") else "Normal"
        return self._recorder.event(view, about, kind=kind, reason=reason, message=message, now=now)

    def _status(
        self,
        replica_set: Object,
        active: Sequence[Object],
        claimed: Sequence[Object],
        failure: _Failure | None,
        now: float,
    ) -> list[Write]:
        wait = self._pace.seconds(float(replica_set["spec"].get("minReadySeconds") or 0))
        since = [self._ready_since.get(pod["metadata"]["uid"], now) for pod in active if is_pod_ready(pod)]
        available = sum(at + wait <= now for at in since)
        key = (replica_set["metadata"]["namespace"], replica_set["metadata"]["name"])
        for at in since:
            if at + wait > now:
                self._dirty.mark(key, at + wait)
        terminating = sum(is_deleting(pod) and not is_pod_finished(pod) for pod in claimed)
        status = _counted(
            replica_set,
            active,
            available=available,
            terminating=terminating,
            failure=(failure.reason, failure.message) if failure else None,
            now=now,
        )
        if status == (replica_set.get("status") or {}):
            return []
        return [Write.of("update", REPLICA_SETS, {**replica_set, "status": status}, subresource="status")]


def _related(view: View, replica_set: Object) -> list[Object]:
    """The active pods of every ReplicaSet of the same Deployment."""
    owner = controller_of(replica_set)
    siblings = [replica_set]
    if owner is not None:
        siblings = [obj for place, obj in view.state.by_owner(owner["uid"]) if place == REPLICA_SETS]
    return [
        pod for sibling in siblings for pod in controlled(view.state, sibling, PODS) if is_pod_active(pod)
    ]


def _new_pod(view: View, replica_set: Object) -> Object:
    template = replica_set["spec"]["template"]
    prefix = f"{replica_set['metadata']['name']}-"
    metadata = {
        "generateName": prefix,
        "name": view.new_name(prefix),
        "namespace": replica_set["metadata"]["namespace"],
        **{
            field: template["metadata"][field]
            for field in ("labels", "annotations", "finalizers")
            if template["metadata"].get(field)
        },
        "ownerReferences": [controller_reference(replica_set)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _counted(
    replica_set: Object,
    active: Sequence[Object],
    *,
    available: int,
    terminating: int,
    failure: tuple[str, str] | None,
    now: float,
) -> dict[str, Any]:
    """The status over the active pods; failure is (reason, message) of a refused create."""
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

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def doomed(pods: Sequence[Object], count: int, related: Sequence[Object]) -> list[Object]:
    """The pods to delete, the least valuable first; related are all pods of the same Deployment."""
    crowd = Counter(node for pod in related if (node := pod["spec"].get("nodeName")))
    youngest_first = sorted(pods, key=lambda pod: pod["metadata"]["name"])
    youngest_first.sort(key=_times, reverse=True)
    return sorted(youngest_first, key=lambda pod: _value(pod, crowd))[:count]


def _value(pod: Object, crowd: Counter[str]) -> tuple[Any, ...]:
    """The worth of a pod, in falling weight: assigned, running, ready, costly, alone, stable."""
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
    since = ready["lastTransitionTime"] if ready and ready["status"] == "True" else ""
    return since, pod["metadata"]["creationTimestamp"]
