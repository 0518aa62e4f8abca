"""Slices and Endpoints follow their Services and pods."""

from __future__ import annotations

from handloop_sandbox.cluster.endpoint_slices import ENDPOINT_SLICES
from handloop_sandbox.cluster.endpoints import ENDPOINTS
from handloop_sandbox.cluster.service_endpoints import SERVICES
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import SimulatedCluster, new_pod, new_service


def _slices(cluster: SimulatedCluster) -> list[Object]:
    return cluster.store.list(ENDPOINT_SLICES)


def _endpoints(cluster: SimulatedCluster) -> list[Object]:
    return cluster.store.list(ENDPOINTS)


def _ready(cluster: SimulatedCluster) -> list[str]:
    """The pods that are ready by the slice, which are those by the Endpoints."""
    (found,), (older,) = _slices(cluster), _endpoints(cluster)
    ready = [e["targetRef"]["name"] for e in found["endpoints"] or () if e["conditions"]["ready"]]
    subsets = older.get("subsets") or ()
    assert [a["targetRef"]["name"] for subset in subsets for a in subset["addresses"]] == ready
    return ready


def test_changed_labels_and_selectors_are_followed(cluster: SimulatedCluster) -> None:
    """A pod that leaves the selector leaves the slice; a Service that selects others lists them instead."""
    cluster.create(SERVICES, new_service(selector={"app": "a"}))
    for name in "ab":
        cluster.create(PODS, new_pod(name, labels={"app": name}))
    cluster.run_for(10)
    assert _ready(cluster) == ["a"]
    spec = cluster.must_get(SERVICES, "default", "web")["spec"]
    cluster.change(SERVICES, "default", "web", spec={**spec, "selector": {"app": "b"}})
    cluster.run_for(1)
    assert _ready(cluster) == ["b"]
    cluster.change(PODS, "default", "b", metadata={"labels": {"app": "c"}})
    cluster.run_for(1)
    assert _ready(cluster) == []


def test_service_without_selector_is_left_to_others(cluster: SimulatedCluster) -> None:
    """Such a Service gets no slice and no Endpoints, and keeps those that a user makes."""
    cluster.create(SERVICES, new_service())
    cluster.run_for(1)
    assert (_slices(cluster), _endpoints(cluster)) == ([], [])
    own = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "default"}}
    made = cluster.create(ENDPOINTS, own)
    cluster.run_for(1)
    assert (_slices(cluster), _endpoints(cluster)) == ([], [made])


def test_what_is_deleted_comes_back_and_goes_with_its_service(cluster: SimulatedCluster) -> None:
    """A slice, and Endpoints, that someone deletes are made again; the Service takes them along."""
    cluster.create(SERVICES, new_service(selector={"app": "web"}))
    cluster.run_for(1)
    before = [*_slices(cluster), *_endpoints(cluster)]
    cluster.delete(ENDPOINT_SLICES, "default", before[0]["metadata"]["name"])
    cluster.delete(ENDPOINTS, "default", "web")
    cluster.run_for(1)
    after = [*_slices(cluster), *_endpoints(cluster)]
    assert not {obj["metadata"]["uid"] for obj in before} & {obj["metadata"]["uid"] for obj in after}
    assert len(after) == 2
    cluster.delete(SERVICES, "default", "web")
    cluster.run_for(1)
    assert (_slices(cluster), _endpoints(cluster)) == ([], [])


def test_a_pod_without_a_node_has_no_endpoint_unless_asked_for(cluster: SimulatedCluster) -> None:
    """Its address is one that a user wrote. Endpoints never have it: in a cluster, they need the node."""
    for name, tolerant in (("web", False), ("all", True)):
        service = new_service(name, selector={"app": "a"})
        service["spec"]["publishNotReadyAddresses"] = tolerant
        cluster.create(SERVICES, service)
    cluster.create(PODS, new_pod("a", labels={"app": "a"}, schedulerName="none"))
    cluster.change(PODS, "default", "a", status={"phase": "Pending", "podIP": "10.0.0.9"})
    cluster.run_for(1)
    found = {each["metadata"]["generateName"]: each["endpoints"] for each in _slices(cluster)}
    assert found["web-"] is None
    (endpoint,) = found["all-"]
    assert endpoint["addresses"] == ["10.0.0.9"]
    assert "nodeName" not in endpoint
    assert [each.get("subsets") for each in _endpoints(cluster)] == [None, None]
