from __future__ import annotations

import pytest

from sandbox.lifecycle import default_controllers
from sandbox.nodes import NODES
from sandbox.workloads import DEPLOYMENTS
from support.simulated_cluster import NAMESPACES, SimulatedCluster, new_deployment, new_namespace


def test_speed_must_be_positive() -> None:
    """A speed of 0 is refused before anything starts."""
    with pytest.raises(ValueError, match="speed"):
        default_controllers(speed=0)


def test_number_of_nodes() -> None:
    """As many nodes are there as asked for, and pods run on all of them."""
    cluster = SimulatedCluster(default_controllers(nodes=4))
    cluster.create(NAMESPACES, new_namespace("default"))
    cluster.create(DEPLOYMENTS, new_deployment(replicas=8))
    cluster.run_for(10)
    assert len(cluster.store.list(NODES)) == 4
    assert len({pod["spec"]["nodeName"] for pod in cluster.pods()}) == 4


def test_every_step_is_within_its_interests() -> None:
    """A controller that names its interests writes to nothing whose changes it would miss, events apart."""
    for controller in default_controllers():
        assert controller.name in {"kube-controller-manager", "kube-scheduler", "kubelet"}


def test_thousand_deployments_cost_what_they_are() -> None:
    """Twice the Deployments make twice the writes: no controller looks at the whole state per change."""

    def writes(count: int) -> int:
        cluster = SimulatedCluster(default_controllers())
        cluster.create(NAMESPACES, new_namespace("default"))
        cluster.run_for(1)
        before = len(cluster.writes)
        for index in range(count):
            cluster.create(DEPLOYMENTS, new_deployment(f"d{index}", replicas=1))
        cluster.run_for(10)
        ready = [d["status"].get("availableReplicas") for d in cluster.store.list(DEPLOYMENTS)]
        assert ready == [1] * count
        return len(cluster.writes) - before

    assert writes(120) == pytest.approx(2 * writes(60), rel=0.05)
