"""The status of a Job: its conditions, its counters and the pods to count. Every function is pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.completion_indexes import index_of, parsed, shown
from handloop_sandbox.cluster.workloads import (
    condition,
    finalizers_of,
    is_deleting,
    is_pod_active,
    is_pod_finished,
    is_pod_ready,
    status_count,
)
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Object

TRACKING: Final = "batch.kubernetes.io/job-tracking"


class Tally(NamedTuple):
    """The pods of a Job: the active ones, the finished ones to count now, and the new totals."""

    active: list[Object]
    succeeded: list[Object]
    failed: list[Object]
    terminating: int
    total_succeeded: int
    total_failed: int
    indexes: list[int]


def tally_of(job: Object, pods: Sequence[Object]) -> Tally:
    """Return the tally of a Job's pods."""
    status = job.get("status") or {}
    after_end_only = job["spec"].get("podReplacementPolicy") == "Failed"
    tracked = [pod for pod in pods if TRACKING in finalizers_of(pod)]
    succeeded = [pod for pod in tracked if (pod.get("status") or {}).get("phase") == "Succeeded"]
    failed = [
        pod
        for pod in tracked
        if (pod.get("status") or {}).get("phase") == "Failed"
        or (is_deleting(pod) and not is_pod_finished(pod) and not after_end_only)
    ]
    indexes: list[int] = []
    total = status_count(job, "succeeded") + len(succeeded)
    if job["spec"].get("completionMode") == "Indexed":
        reached = {*parsed(status.get("completedIndexes", "")), *map(index_of, succeeded)}
        indexes = sorted(i for i in reached if i is not None and i < job["spec"]["completions"])
        total = len(indexes)
    return Tally(
        active=[pod for pod in pods if is_pod_active(pod)],
        succeeded=succeeded,
        failed=failed,
        terminating=sum(is_deleting(pod) and not is_pod_finished(pod) for pod in pods),
        total_succeeded=total,
        total_failed=status_count(job, "failed") + len(failed),
        indexes=indexes,
    )


def restarts_exceed(job: Object, active: Sequence[Object], limit: int) -> bool:
    """Return whether container restarts have reached the limit."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    statuses = [entry for pod in active for entry in (pod.get("status") or {}).get("containerStatuses") or ()]
    count = sum(entry["restartCount"] for entry in statuses)
    return count > 0 if limit == 0 else bool(count >= limit)


def uncounted(job: Object, tally: Tally, failed: Sequence[Object]) -> dict[str, Any]:
    """Return the status field uncountedTerminatedPods."""
    succeeded = [] if job["spec"].get("completionMode") == "Indexed" else tally.succeeded
    groups = {"succeeded": succeeded, "failed": failed}
    return {name: [pod["metadata"]["uid"] for pod in pods] for name, pods in groups.items() if pods}


def counts_of(active: Sequence[Object], terminating: int) -> dict[str, int]:
    """Return the counters for existing pods."""
    return {"active": len(active), "terminating": terminating, "ready": sum(map(is_pod_ready, active))}


def new_status(
    before: dict[str, Any],
    conditions: list[dict[str, Any]],
    counts: dict[str, int],
    pending: dict[str, Any],
    indexes: list[int],
) -> dict[str, Any]:
    """Return the Job's status without its final conditions, Complete or Failed."""
    return {
        **before,
        "conditions": conditions,
        **counts,
        "uncountedTerminatedPods": pending,
        **({"completedIndexes": shown(indexes), "succeeded": len(indexes)} if indexes else {}),
    }


def stripped(status: dict[str, Any]) -> dict[str, Any]:
    """Return the status without the empty fields that Go's JSON encoding omits."""
    empty = ("active", "succeeded", "failed", "conditions")
    return {name: value for name, value in status.items() if value or name not in empty}


def held(job: Object, kind: str) -> dict[str, Any] | None:
    """Return the condition of this type if its status is True, else None."""
    found = condition(job, kind)
    return found if found is not None and found["status"] == "True" else None


def with_condition(
    conditions: list[dict[str, Any]], kind: str, status: str, why: tuple[str, str], now: float
) -> list[dict[str, Any]]:
    """Return the conditions with one added or replaced, unless this condition already has this status."""
    before = next((entry for entry in conditions if entry["type"] == kind), None)
    if before is not None and before["status"] == status:
        return conditions
    stamp = format_time(now)
    entry = {"type": kind, "status": status, "lastProbeTime": stamp, "lastTransitionTime": stamp}
    entry |= {field: text for field, text in zip(("reason", "message"), why, strict=True) if text}
    if before is None:
        return [*conditions, entry]
    return [entry if found is before else found for found in conditions]
