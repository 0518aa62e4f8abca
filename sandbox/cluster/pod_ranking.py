"""
Which pods of a ReplicaSet go first when there are too many.

Follows: kubernetes pkg/controller/controller_utils.go (ActivePodsWithRanks), differs: among pods that are
alike the youngest goes first, where the original chooses at random between pods of about the same age.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from handloop.sandbox.cluster.workloads import condition, is_pod_ready
from handloop.sandbox.storage.stored import Object

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def doomed(pods: Sequence[Object], count: int, related: Sequence[Object]) -> list[Object]:
    """The pods to delete, the least valuable first; related are all pods of the same Deployment."""
    crowd = Counter(node for pod in related if (node := pod["spec"].get("nodeName")))
    youngest_first = sorted(pods, key=lambda pod: pod["metadata"]["name"])
    youngest_first.sort(key=_times, reverse=True)
    return sorted(youngest_first, key=lambda pod: _value(pod, crowd))[:count]


def _value(pod: Object, crowd: Counter[str]) -> tuple[Any, ...]:
    """What makes a pod worth keeping, in falling weight: assigned, running, ready, costly, alone, stable."""
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
