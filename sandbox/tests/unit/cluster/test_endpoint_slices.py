from __future__ import annotations

import pytest

from handloop_sandbox.cluster.endpoint_slices import ENDPOINT_SLICES
from handloop_sandbox.cluster.service_endpoints import SERVICES
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import SimulatedCluster, new_deployment, new_pod, new_service


def _slices(cluster: SimulatedCluster) -> list[Object]:
    return cluster.store.list(ENDPOINT_SLICES)


def _ready(cluster: SimulatedCluster) -> list[str]:
    (found,) = _slices(cluster)
    return [e["targetRef"]["name"] for e in found["endpoints"] or () if e["conditions"]["ready"]]


def test_service_gets_a_slice_of_its_pods(cluster: SimulatedCluster) -> None:
    """The slice is empty at first, then lists running pods with address, node and readiness."""
    made = cluster.create(SERVICES, new_service(selector={"app": "web"}, targetPort=8080, name="http"))
    cluster.run_for(1)
    (empty,) = _slices(cluster)
    assert (empty["endpoints"], empty["ports"], empty["addressType"]) == (None, None, "IPv4")
    assert empty["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    }
    assert empty["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    cluster.create(DEPLOYMENTS, new_deployment(replicas=2))
    cluster.run_for(10)
    (full,) = _slices(cluster)
    assert full["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    pods = {pod["metadata"]["name"]: pod for pod in cluster.pods()}
    assert [endpoint["targetRef"]["name"] for endpoint in full["endpoints"]] == sorted(pods)
    for endpoint in full["endpoints"]:
        pod = pods[endpoint["targetRef"]["name"]]
        assert endpoint["addresses"] == [pod["status"]["podIP"]]
        assert endpoint["nodeName"] == pod["spec"]["nodeName"]
        assert endpoint["conditions"] == {"ready": True, "serving": True, "terminating": False}


def test_unready_and_terminating_pods_are_not_ready(cluster: SimulatedCluster) -> None:
    """A pod that is not ready is listed as such; one that terminates still serves but is not ready."""
    cluster.create(SERVICES, new_service(selector={"app": "web"}))
    cluster.create(PODS, new_pod("good", labels={"app": "web"}))
    cluster.create(PODS, new_pod("bad", labels={"app": "web"}, image="nginx:never-ready"))
    cluster.run_for(10)
    assert _ready(cluster) == ["good"]
    cluster.delete(PODS, "default", "good")
    cluster.run_for(0.5)
    (found,) = _slices(cluster)
    conditions = {e["targetRef"]["name"]: e["conditions"] for e in found["endpoints"]}
    assert conditions["good"] == {"ready": False, "serving": True, "terminating": True}
    cluster.run_for(5)
    (found,) = _slices(cluster)
    assert [e["targetRef"]["name"] for e in found["endpoints"]] == ["bad"]


@pytest.mark.parametrize(("target", "expected"), [("web", [8080]), ("none", None), (None, [80])])
def test_named_target_ports_are_looked_up(
    cluster: SimulatedCluster, target: str | None, expected: list[int] | None
) -> None:
    """A name is the containers' port of that name, none the Service's own; an unknown one has no port."""
    port = {"targetPort": target} if target else {}
    cluster.create(SERVICES, new_service(selector={"app": "web"}, **port))
    pod = new_pod("p", labels={"app": "web"})
    pod["spec"]["containers"][0]["ports"] = [{"name": "web", "containerPort": 8080}]
    cluster.create(PODS, pod)
    cluster.run_for(10)
    (found,) = _slices(cluster)
    assert (found["ports"] and [entry["port"] for entry in found["ports"]]) == expected
