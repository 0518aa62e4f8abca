"""The Endpoints of a Service: addresses by readiness, subsets by ports."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.endpoints import ENDPOINTS
from handloop_sandbox.cluster.service_endpoints import SERVICES
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import SimulatedCluster, new_pod, new_service

_WEB = {"app": "web"}


def _subsets(cluster: SimulatedCluster) -> list[Any]:
    """(ports, names of ready pods, names of others) of each subset."""
    found = cluster.must_get(ENDPOINTS, "default", "web").get("subsets", [])
    return [
        (
            [port["port"] for port in subset.get("ports", [])],
            [address["targetRef"]["name"] for address in subset.get("addresses", [])],
            [address["targetRef"]["name"] for address in subset.get("notReadyAddresses", [])],
        )
        for subset in found
    ]


def _pod(name: str, number: int | None = None, *, image: str = "nginx") -> Object:
    pod = new_pod(name, labels=_WEB, image=image)
    if number is not None:
        pod["spec"]["containers"][0]["ports"] = [{"name": "web", "containerPort": number}]
    return pod


def test_a_service_gets_endpoints_of_its_name(cluster: SimulatedCluster) -> None:
    """Empty at first, with its labels; then with the addresses of the pods."""
    service = new_service(selector=_WEB, name="http", appProtocol="kubernetes.io/h2c")
    service["metadata"]["labels"] = {"mine": "too", "service.kubernetes.io/headless": ""}
    cluster.create(SERVICES, service)
    cluster.run_for(1)
    empty = cluster.must_get(ENDPOINTS, "default", "web")
    assert "subsets" not in empty
    managed = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert empty["metadata"]["labels"] == {"mine": "too", **managed}
    cluster.create(PODS, _pod("a"))
    cluster.run_for(10)
    (pod,) = cluster.pods()
    (subset,) = cluster.must_get(ENDPOINTS, "default", "web")["subsets"]
    place = {"kind": "Pod", "namespace": "default", "name": "a", "uid": pod["metadata"]["uid"]}
    address = {"ip": pod["status"]["podIP"], "nodeName": pod["spec"]["nodeName"], "targetRef": place}
    port = {"name": "http", "port": 80, "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"}
    assert subset == {"addresses": [address], "ports": [port]}


@pytest.mark.parametrize("tolerant", [False, True])
def test_only_those_that_are_ready_are_addresses(cluster: SimulatedCluster, *, tolerant: bool) -> None:
    """Unless the Service publishes those that are not; one that terminates leaves, unless it does."""
    service = new_service(selector=_WEB)
    service["spec"]["publishNotReadyAddresses"] = tolerant
    cluster.create(SERVICES, service)
    cluster.create(PODS, _pod("bad", image="nginx:never-ready"))
    cluster.create(PODS, _pod("good"))
    cluster.run_for(10)
    both = {name for _, ready, others in _subsets(cluster) for name in (*ready, *others)}
    assert both == {"bad", "good"}
    assert [others for _, _, others in _subsets(cluster)] == [[] if tolerant else ["bad"]]
    cluster.delete(PODS, "default", "good")
    cluster.run_for(0.5)
    assert ("good" in str(_subsets(cluster))) is tolerant


def test_pods_whose_named_ports_differ_are_subsets(cluster: SimulatedCluster) -> None:
    """Each pod's own number counts, and a pod without the port has no address."""
    cluster.create(SERVICES, new_service(selector=_WEB, targetPort="web"))
    for name, number in (("a", 8080), ("b", 9090), ("c", 8080), ("d", None)):
        cluster.create(PODS, _pod(name, number))
    cluster.run_for(10)
    found = {tuple(ports): set(ready) for ports, ready, _ in _subsets(cluster)}
    assert found == {(8080,): {"a", "c"}, (9090,): {"b"}}


def test_a_service_without_an_address_of_its_own_may_have_no_ports(cluster: SimulatedCluster) -> None:
    """Its Endpoints are labelled as headless."""
    service = new_service(selector=_WEB)
    service["spec"] |= {"clusterIP": "None", "ports": []}
    cluster.create(SERVICES, service)
    cluster.create(PODS, _pod("a"))
    cluster.run_for(10)
    assert _subsets(cluster) == [([], ["a"], [])]
    labels = cluster.must_get(ENDPOINTS, "default", "web")["metadata"]["labels"]
    assert labels["service.kubernetes.io/headless"] == ""
