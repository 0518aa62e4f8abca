from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.disruption_budgets import BUDGETS, DisruptionController
from handloop_sandbox.cluster.workloads import PODS
from support.servers.simulated_cluster import SimulatedCluster, new_pod

LABELS = {"app": "web"}
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def _cluster(pods: int, **spec: Any) -> SimulatedCluster:
    """A budget over ready pods."""
    cluster = SimulatedCluster([DisruptionController(Pace())])
    metadata = {"name": "b", "namespace": "default"}
    selector = {"matchLabels": LABELS}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata}
    cluster.create(BUDGETS, {**budget, "spec": {"selector": selector, **spec}})
    for index in range(pods):
        cluster.create(PODS, new_pod(f"p{index}", labels=LABELS))
        cluster.change(PODS, "default", f"p{index}", status=READY)
    cluster.create(PODS, new_pod("other"))
    cluster.run_for(1)
    return cluster


def _status(cluster: SimulatedCluster) -> dict[str, Any]:
    status: dict[str, Any] = cluster.must_get(BUDGETS, "default", "b")["status"]
    return status


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 1}, 1, 2),
        ({"minAvailable": 3}, 3, 0),
        ({"minAvailable": "50%"}, 2, 1),
        ({"maxUnavailable": 1}, 2, 1),
        ({"maxUnavailable": "100%"}, 0, 3),
    ],
)
def test_how_many_may_go(spec: dict[str, Any], desired: int, allowed: int) -> None:
    """Numbers are taken as they are, percentages of the pods there are, rounded up."""
    status = _status(_cluster(3, **spec))
    assert (status["expectedPods"], status["currentHealthy"]) == (3, 3)
    assert (status["desiredHealthy"], status["disruptionsAllowed"]) == (desired, allowed)


def test_the_condition_follows() -> None:
    """A pod that is not ready any more leaves nothing to spare; the time is that of the change."""
    cluster = _cluster(2, minAvailable=1)
    (before,) = _status(cluster)["conditions"]
    assert (before["status"], before["reason"]) == ("True", "SufficientPods")
    cluster.run_for(5)
    cluster.change(PODS, "default", "p0", status={"phase": "Running", "conditions": []})
    cluster.run_for(1)
    (after,) = _status(cluster)["conditions"]
    assert (after["status"], after["reason"]) == ("False", "InsufficientPods")
    assert after["lastTransitionTime"] > before["lastTransitionTime"]
    cluster.delete(PODS, "default", "p0")
    cluster.run_for(1)
    (same,) = _status(cluster)["conditions"]
    assert (same["lastTransitionTime"], _status(cluster)["expectedPods"]) == (after["lastTransitionTime"], 1)
