"""
The status of a ReplicaSet: counters, and the condition ReplicaFailure.

Follows: kubernetes pkg/controller/replicaset/replica_set_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handloop.apis.time import format_time
from handloop.sandbox.cluster.workloads import is_pod_ready
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.wire.label_selector import matches


def counted(
    replica_set: Object,
    active: Sequence[Object],
    *,
    available: int,
    terminating: int,
    failure: tuple[str, str] | None,
    now: float,
) -> dict[str, Any]:
    """The status over the active pods; failure is (reason, message) of a refused create or delete."""
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
