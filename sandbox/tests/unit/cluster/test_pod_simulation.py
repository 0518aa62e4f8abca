from __future__ import annotations

import pytest

from handloop_sandbox.cluster.lifecycle import default_controllers
from handloop_sandbox.cluster.pod_faults import FAULT_ANNOTATION
from handloop_sandbox.cluster.pod_simulation import PodAddresses
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS, is_pod_ready
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import SimulatedCluster, new_deployment, new_pod


def _pod(cluster: SimulatedCluster, name: str = "p") -> Object:
    return cluster.must_get(PODS, "default", name)


def _waiting(cluster: SimulatedCluster) -> set[str]:
    statuses = [status for pod in cluster.pods() for status in pod["status"].get("containerStatuses", [])]
    return {status["state"]["waiting"]["reason"] for status in statuses if "waiting" in status["state"]}


def _all_ready(cluster: SimulatedCluster) -> bool:
    return bool(cluster.pods()) and all(is_pod_ready(pod) for pod in cluster.pods())


def test_pod_history_is_the_kubelets(cluster: SimulatedCluster) -> None:
    """Pending, scheduled, creating, running, ready: a version each, and the events in their order."""
    cluster.create(PODS, new_pod("p"))
    cluster.run_for(5)
    history = cluster.history(PODS, "p")
    assert [obj["status"]["phase"] for obj in history] == ["Pending"] * 3 + ["Running"] * 2
    assert is_pod_ready(history[-1])
    reasons = [event["reason"] for event in cluster.events() if event["involvedObject"]["name"] == "p"]
    assert reasons == ["Scheduled", "Pulling", "Pulled", "Created", "Started"]
    pulled = cluster.events("Pulled")[0]
    assert pulled["involvedObject"]["fieldPath"] == "spec.containers{main}"
    assert pulled["source"] == {"component": "kubelet", "host": _pod(cluster)["spec"]["nodeName"]}


@pytest.mark.parametrize(("speed", "least", "most"), [(1.0, 1.8, 3.4), (10.0, 0.18, 0.34)])
def test_readiness_follows_the_speed(speed: float, least: float, most: float) -> None:
    """A pod is ready after about two seconds at speed 1, and ten times sooner at speed 10."""
    cluster = SimulatedCluster(speed=speed)
    cluster.create(PODS, new_pod("p"))
    assert least <= cluster.run_until(lambda: is_pod_ready(_pod(cluster))) <= most


def test_deleted_pod_terminates_within_a_second(cluster: SimulatedCluster) -> None:
    """A running pod gets its signal, stays for a second, and goes; its address is free again."""
    cluster.create(PODS, new_pod("p"))
    cluster.run_for(5)
    cluster.delete(PODS, "default", "p")
    cluster.run_for(0.9)
    assert _pod(cluster)["metadata"]["deletionTimestamp"]
    assert cluster.messages("Killing") == ["Stopping container main"]
    cluster.run_for(0.2)
    assert cluster.get(PODS, "default", "p") is None


def test_finalizer_holds_a_terminated_pod(cluster: SimulatedCluster) -> None:
    """A pod with a finalizer stays, ended, until someone removes it; the kubelet does nothing more."""
    pod = new_pod("p")
    pod["metadata"]["finalizers"] = ["example.com/f"]
    cluster.create(PODS, pod)
    cluster.run_for(5)
    cluster.delete(PODS, "default", "p")
    cluster.run_for(5)
    assert _pod(cluster)["status"]["phase"] == "Succeeded"
    written = len(cluster.writes)
    cluster.run_for(60)
    assert len(cluster.writes) == written


def test_pods_have_addresses_of_their_own(cluster: SimulatedCluster) -> None:
    """No two pods share an address while both are there, also after a restart of the simulation."""
    cluster.create(DEPLOYMENTS, new_deployment(replicas=20))
    cluster.run_for(10)
    cluster.restart(default_controllers())
    spec = cluster.deployment()["spec"]
    cluster.change(DEPLOYMENTS, "default", "web", spec={**spec, "replicas": 40})
    cluster.run_for(10)
    assert len({pod["status"]["podIP"] for pod in cluster.pods()}) == 40


def test_pod_on_an_unknown_node_stays_pending(cluster: SimulatedCluster) -> None:
    """A pod bound to a node that is not simulated is left alone."""
    cluster.create(PODS, new_pod("p", nodeName="elsewhere"))
    cluster.run_for(10)
    assert _pod(cluster)["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize("on_owner", [True, False])
def test_fault_on_a_running_workload_strikes_and_ends(cluster: SimulatedCluster, *, on_owner: bool) -> None:
    """Annotating a Deployment or its pods with crash takes them down; removing it brings them back."""
    cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_until(lambda: _all_ready(cluster))

    def annotate(fault: str) -> None:
        annotations = {"annotations": {FAULT_ANNOTATION: fault}}
        if on_owner:
            cluster.change(DEPLOYMENTS, "default", "web", metadata=annotations)
            return
        for pod in cluster.pods():
            cluster.change(PODS, "default", pod["metadata"]["name"], metadata=annotations)

    annotate("crash")
    cluster.run_until(lambda: _waiting(cluster) == {"CrashLoopBackOff"})
    assert not any(is_pod_ready(pod) for pod in cluster.pods())
    annotate("none")
    assert cluster.run_until(lambda: _all_ready(cluster)) < 3


def test_fault_of_a_custom_object_reaches_its_pods(cluster: SimulatedCluster) -> None:
    """The annotation on an owner of the Deployment counts although nothing copies it."""
    cluster.create(DEPLOYMENTS, new_deployment("owner", replicas=0))
    cluster.change(DEPLOYMENTS, "default", "owner", metadata={"annotations": {FAULT_ANNOTATION: "pull-fail"}})
    owner = cluster.deployment("owner")["metadata"]
    owned = new_deployment()
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "owner", "uid": owner["uid"]}
    owned["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    cluster.create(DEPLOYMENTS, owned)
    cluster.run_for(5)
    assert _waiting(cluster) == {"ImagePullBackOff"}
    cluster.change(DEPLOYMENTS, "default", "owner", metadata={"annotations": {}})
    assert cluster.run_until(lambda: _all_ready(cluster)) < 5


def test_readiness_gate_of_others_is_followed(cluster: SimulatedCluster) -> None:
    """A pod with a gate is ready as soon as, and as long as, its condition is True."""
    cluster.create(PODS, new_pod("p", readinessGates=[{"conditionType": "example.com/g"}]))
    cluster.run_for(5)
    assert not is_pod_ready(_pod(cluster))
    status = _pod(cluster)["status"]
    gate = {"type": "example.com/g", "status": "True"}
    cluster.change(PODS, "default", "p", status={**status, "conditions": [*status["conditions"], gate]})
    cluster.run_for(0.1)
    assert is_pod_ready(_pod(cluster))


def test_restarted_simulation_goes_on(cluster: SimulatedCluster) -> None:
    """Controllers that start anew take pods over where they are: pending ones finish, ready ones stay."""
    cluster.create(PODS, new_pod("old"))
    cluster.run_for(5)
    cluster.create(PODS, new_pod("young"))
    cluster.run_for(0.7)
    cluster.restart(default_controllers())
    ready_since = _pod(cluster, "old")["status"]["conditions"]
    cluster.run_for(5)
    assert _all_ready(cluster)
    assert _pod(cluster, "old")["status"]["conditions"] == ready_since


def test_addresses_are_unique_while_in_use() -> None:
    """Thousands of pods have different addresses, all valid."""
    addresses = PodAddresses()
    taken = [addresses.take() for _ in range(5000)]
    assert len(set(taken)) == 5000
    assert all(0 < int(part) < 256 for address in taken for part in address.split(".")[3:])
    assert taken[0] == "10.244.0.3"


def test_adopted_address_is_not_given_twice() -> None:
    """An address found on a running pod is kept and skipped when its turn comes."""
    addresses = PodAddresses()
    assert addresses.take("10.244.0.3") == "10.244.0.3"
    assert addresses.take() == "10.244.0.4"
    addresses.give_back("10.244.0.3")
    assert addresses.take() == "10.244.0.5"
