from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.nodes import NODES, NodeRegistrar
from handloop_sandbox.cluster.pod_faults import FAULT_ANNOTATION
from handloop_sandbox.cluster.scheduler import Scheduler
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS, condition
from support.servers.simulated_cluster import SimulatedCluster, new_deployment, new_pod


def _cluster(*, nodes: int = 2) -> SimulatedCluster:
    cluster = SimulatedCluster([NodeRegistrar(nodes), Scheduler(Pace())])
    cluster.run_for(1)
    return cluster


def _node_of(cluster: SimulatedCluster, name: str) -> str:
    return str(cluster.must_get(PODS, "default", name)["spec"].get("nodeName", ""))


def test_pods_are_bound_to_the_nodes_in_turn() -> None:
    """Each pod is bound about 300 ms after it was created, with the scheduler's event; nodes take turns."""
    cluster = _cluster()
    for name in "abcd":
        cluster.create(PODS, new_pod(name))
    cluster.run_for(0.25)
    assert {_node_of(cluster, name) for name in "abcd"} == {""}
    cluster.run_for(0.25)
    nodes = sorted(_node_of(cluster, name) for name in "abcd")
    assert nodes == ["sandbox-0", "sandbox-0", "sandbox-1", "sandbox-1"]
    messages = cluster.messages("Scheduled")
    assert f"Successfully assigned default/a to {_node_of(cluster, 'a')}" in messages
    assert cluster.events("Scheduled")[0]["reportingComponent"] == "default-scheduler"


def test_pods_of_others_are_left_alone() -> None:
    """Bound, gated and other schedulers' pods are not touched; a gate that goes lets the pod be bound."""
    cluster = _cluster()
    cluster.create(PODS, new_pod("bound", nodeName="elsewhere"))
    cluster.create(PODS, new_pod("gated", schedulingGates=[{"name": "g"}]))
    cluster.create(PODS, new_pod("other", schedulerName="mine"))
    cluster.run_for(60)
    assert [_node_of(cluster, name) for name in ("bound", "gated", "other")] == ["elsewhere", "", ""]
    spec = cluster.must_get(PODS, "default", "gated")["spec"]
    cluster.change(PODS, "default", "gated", spec={**spec, "schedulingGates": []})
    cluster.run_for(1)
    assert _node_of(cluster, "gated") != ""


def test_unschedulable_pod_gives_the_reason_and_waits() -> None:
    """A pod that fits nowhere has a condition and an event whose series grows, until a node fits."""
    cluster = _cluster()
    cluster.create(PODS, new_pod("p", nodeSelector={"disk": "ssd"}))
    cluster.run_for(70)
    scheduled = condition(cluster.must_get(PODS, "default", "p"), "PodScheduled")
    assert scheduled is not None
    message = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    assert (scheduled["status"], scheduled["reason"], scheduled["message"]) == (
        "False",
        "Unschedulable",
        message,
    )
    (event,) = cluster.events("FailedScheduling")
    assert (event["type"], event["message"], event["series"]["count"]) == ("Warning", message, 3)
    _label(cluster, "sandbox-1", disk="ssd")
    assert cluster.run_until(lambda: _node_of(cluster, "p") == "sandbox-1") < 31


def _label(cluster: SimulatedCluster, node: str, **labels: str) -> None:
    present = cluster.must_get(NODES, "", node)["metadata"]["labels"]
    cluster.change(NODES, "", node, metadata={"labels": {**present, **labels}})


def test_cordoned_nodes_take_no_pods() -> None:
    """New pods avoid a cordoned node; with all cordoned they wait, and are bound soon after an uncordon."""
    cluster = _cluster()
    _cordon(cluster, "sandbox-0", cordoned=True)
    for name in "abc":
        cluster.create(PODS, new_pod(name))
    cluster.run_for(1)
    assert {_node_of(cluster, name) for name in "abc"} == {"sandbox-1"}
    _cordon(cluster, "sandbox-1", cordoned=True)
    cluster.create(PODS, new_pod("d"))
    cluster.run_for(1)
    assert cluster.messages("FailedScheduling") == ["0/2 nodes are available: 2 node(s) were unschedulable."]
    _cordon(cluster, "sandbox-1", cordoned=False)
    assert cluster.run_until(lambda: _node_of(cluster, "d") == "sandbox-1") < 1


def _cordon(cluster: SimulatedCluster, node: str, *, cordoned: bool) -> None:
    spec: dict[str, Any] = cluster.must_get(NODES, "", node)["spec"]
    cluster.change(NODES, "", node, spec={**spec, "unschedulable": cordoned})


def test_cluster_without_nodes() -> None:
    """Without any node there is a text of its own."""
    cluster = _cluster(nodes=0)
    cluster.create(PODS, new_pod("p"))
    cluster.run_for(1)
    assert cluster.messages("FailedScheduling") == ["no nodes available to schedule pods"]


def test_fault_unschedulable_by_tag_and_by_owner() -> None:
    """The fault holds pods back until it is taken away, from the pod or from what owns it."""
    cluster = _cluster()
    owner = cluster.create(DEPLOYMENTS, new_deployment())
    cluster.change(
        DEPLOYMENTS, "default", "web", metadata={"annotations": {FAULT_ANNOTATION: "unschedulable"}}
    )
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": owner["metadata"]["uid"],
    }
    pod = new_pod("owned")
    pod["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    cluster.create(PODS, pod)
    cluster.create(PODS, new_pod("tagged", image="nginx:unschedulable"))
    cluster.run_for(2)
    assert (_node_of(cluster, "owned"), _node_of(cluster, "tagged")) == ("", "")
    assert cluster.messages("FailedScheduling") == ["0/2 nodes are available: 2 Insufficient cpu."] * 2
    cluster.change(DEPLOYMENTS, "default", "web", metadata={"annotations": {}})
    cluster.change(PODS, "default", "tagged", metadata={"annotations": {FAULT_ANNOTATION: "none"}})
    cluster.run_for(1)
    assert _node_of(cluster, "owned") != ""
    assert _node_of(cluster, "tagged") != ""


def test_deleted_pod_is_forgotten() -> None:
    """A pod that goes before it is bound leads to no write and no wake-up."""
    cluster = _cluster()
    cluster.create(PODS, new_pod("p"))
    cluster.run_for(0.1)
    cluster.delete(PODS, "default", "p")
    written = len(cluster.writes)
    cluster.run_for(60)
    assert len(cluster.writes) == written
