"""
The status of a Deployment: counters and conditions.

Every function is pure and returns a new status.
Follows: kubernetes pkg/controller/deployment/sync.go and progress.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.rolling_update import bounds_of, total_replicas, total_status
from handloop_sandbox.cluster.workloads import condition, spec_replicas
from handloop_sandbox.grammar.times import format_time, parse_time
from handloop_sandbox.storage.stored import Object

Status = dict[str, Any]

PROGRESSING = "Progressing"
AVAILABLE = "Available"
REPLICA_FAILURE = "ReplicaFailure"

NEW_REPLICA_SET_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"

_NO_DEADLINE = 2**31 - 1


class Finding(NamedTuple):
    """A condition to set: its type, status, reason and message."""

    type: str
    status: str
    reason: str
    message: str


def with_condition(status: Status, finding: Finding, now: float) -> Status:
    """
    Set a condition, as the last one in the list. If its status and reason stay the same, change nothing.

    lastTransitionTime changes only with the status. lastUpdateTime changes with every update.
    """
    conditions = status.get("conditions") or []
    present = next((c for c in conditions if c["type"] == finding.type), None)
    if present and (present["status"], _reason(present)) == (finding.status, finding.reason):
        return status
    stamp = format_time(now)
    same_status = present is not None and present["status"] == finding.status
    entry = {
        "type": finding.type,
        "status": finding.status,
        "lastUpdateTime": stamp,
        "lastTransitionTime": present["lastTransitionTime"] if present and same_status else stamp,
        "reason": finding.reason,
        "message": finding.message,
    }
    return {**status, "conditions": [*(c for c in conditions if c["type"] != finding.type), entry]}


def _reason(entry: Mapping[str, Any] | None) -> str:
    """Return a condition's reason, or "" if it has none or does not exist."""
    return str((entry or {}).get("reason") or "")


def without_condition(status: Status, kind: str) -> Status:
    """Remove a condition."""
    kept = [entry for entry in status.get("conditions") or [] if entry["type"] != kind]
    if len(kept) == len(status.get("conditions") or []):
        return status
    rest = {key: value for key, value in status.items() if key != "conditions"}
    return {**rest, "conditions": kept} if kept else rest


def counted(deployment: Object, replica_sets: Sequence[Object], new: Object | None, now: float) -> Status:
    """Return the counters and the Available condition."""
    old_status = deployment.get("status") or {}
    available = total_status(replica_sets, "availableReplicas")
    counters = {
        "replicas": total_status(replica_sets, "replicas"),
        "updatedReplicas": total_status([new] if new else [], "replicas"),
        "readyReplicas": total_status(replica_sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total_replicas(replica_sets) - available),
        "collisionCount": old_status.get("collisionCount"),
    }
    status = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        **{field: value for field, value in counters.items() if value},
        "terminatingReplicas": total_status(replica_sets, "terminatingReplicas"),
        "conditions": old_status.get("conditions") or [],
    }
    return with_condition(status, _availability(deployment, available), now)


def _availability(deployment: Object, available: int) -> Finding:
    if available >= bounds_of(deployment).least_available:
        message = "Deployment has minimum availability."
        return Finding(AVAILABLE, "True", "MinimumReplicasAvailable", message)
    message = "Deployment does not have minimum availability."
    return Finding(AVAILABLE, "False", "MinimumReplicasUnavailable", message)


def is_complete(deployment: Object, status: Status) -> bool:
    """Return whether all wanted replicas are new and available, and no old ones are left."""
    wanted = spec_replicas(deployment)
    counters = ("updatedReplicas", "replicas", "availableReplicas")
    observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return observed and all(status.get(counter, 0) == wanted for counter in counters)


def is_progressing(before: Status, after: Status) -> bool:
    """Return whether there are fewer old replicas, or more new, ready or available ones, than before."""
    rising = ("updatedReplicas", "readyReplicas", "availableReplicas")
    fewer_old = _old_replicas(after) < _old_replicas(before)
    return fewer_old or any(after.get(counter, 0) > before.get(counter, 0) for counter in rising)


def _old_replicas(status: Status) -> int:
    return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))


def has_deadline(deployment: Object) -> bool:
    """Return whether the Deployment has a progress deadline."""
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    return deadline is not None and deadline != _NO_DEADLINE


def deadline_at(deployment: Object, progressed_at: float | None, pace: Pace) -> float | None:
    """
    Return the unix time at which the rollout is considered stuck, or None if no rollout is in progress.

    progressed_at is the time of the last progress. If it is None, the condition's lastUpdateTime is used,
    which is in whole seconds.
    """
    progressing = condition(deployment, PROGRESSING)
    if not has_deadline(deployment) or progressing is None:
        return None
    if _reason(progressing) in (NEW_REPLICA_SET_AVAILABLE, TIMED_OUT):
        return None
    updated = progressing.get("lastUpdateTime")  # absent if a user has written the condition without it
    since = (parse_time(updated) if updated else 0.0) if progressed_at is None else progressed_at
    return since + pace.seconds(float(deployment["spec"]["progressDeadlineSeconds"]))


def with_progress(
    deployment: Object, status: Status, new: Object | None, *, stuck: bool, now: float
) -> Status:
    """
    Return the status with its Progressing condition updated to complete, progressing or timed out.

    Without a progress deadline, the condition is removed.
    """
    if not has_deadline(deployment):
        return without_condition(status, PROGRESSING)
    before = deployment.get("status") or {}
    present = condition(deployment, PROGRESSING)
    settled = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if settled and _reason(present) == NEW_REPLICA_SET_AVAILABLE:
        return status
    subject = _subject(deployment, new)
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_condition(status, Finding(PROGRESSING, "True", NEW_REPLICA_SET_AVAILABLE, message), now)
    if is_progressing(before, status):
        return _progressed(
            status, Finding(PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing."), now
        )
    if stuck or _reason(present) == TIMED_OUT:
        message = f"{subject} has timed out progressing."
        return with_condition(status, Finding(PROGRESSING, "False", TIMED_OUT, message), now)
    return status


def _progressed(status: Status, finding: Finding, now: float) -> Status:
    """Set the condition even if it is unchanged, because the deadline counts from its lastUpdateTime."""
    present = condition({"status": status}, PROGRESSING)
    status = with_condition(without_condition(status, PROGRESSING), finding, now)
    if present and present["status"] == finding.status:
        status["conditions"][-1]["lastTransitionTime"] = present["lastTransitionTime"]
    return status


def _subject(deployment: Object, new: Object | None) -> str:
    if new is None:
        return f'Deployment "{deployment["metadata"]["name"]}"'
    return f'ReplicaSet "{new["metadata"]["name"]}"'


def with_failure(status: Status, replica_sets: Sequence[Object], new: Object | None) -> Status:
    """Return the status with the ReplicaFailure of the new or else another ReplicaSet, if any has one."""
    ordered = [*([new] if new else []), *replica_sets]
    failing = next((found for rs in ordered if (found := condition(rs, REPLICA_FAILURE))), None)
    status = without_condition(status, REPLICA_FAILURE)
    if failing is None:
        return status
    texts: dict[str, Any] = {field: failing[field] for field in ("reason", "message") if field in failing}
    entry = {
        "type": REPLICA_FAILURE,
        "status": failing["status"],
        "lastUpdateTime": failing["lastTransitionTime"],
        "lastTransitionTime": failing["lastTransitionTime"],
        **texts,
    }
    return {**status, "conditions": [*(status.get("conditions") or []), entry]}


def pause_finding(deployment: Object) -> Finding | None:
    """Return the Progressing condition to set after a pause or resume, or None if it stays the same."""
    present = condition(deployment, PROGRESSING)
    reason = _reason(present)
    if not has_deadline(deployment) or reason == TIMED_OUT:
        return None
    paused = bool(deployment["spec"].get("paused"))
    if paused and reason != PAUSED:
        return Finding(PROGRESSING, "Unknown", PAUSED, "Deployment is paused")
    if not paused and reason == PAUSED:
        return Finding(PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed")
    return None
