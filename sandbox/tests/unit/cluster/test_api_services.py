"""The APIServices that a cluster makes itself."""

from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.api_services import API_SERVICES, DEFINITIONS, ApiServiceController
from handloop_sandbox.cluster.cluster_controller import Pace
from support.servers.simulated_cluster import SimulatedCluster

_LABEL = "kube-aggregator.kubernetes.io/automanaged"


def _cluster() -> SimulatedCluster:
    cluster = SimulatedCluster([ApiServiceController(Pace())])
    cluster.run_for(1)
    return cluster


def _define(cluster: SimulatedCluster, plural: str, **served: bool) -> None:
    versions = [{"name": name, "served": is_served} for name, is_served in served.items()]
    metadata = {"name": f"{plural}.web.example.com"}
    cluster.create(
        DEFINITIONS, {"metadata": metadata, "spec": {"group": "web.example.com", "versions": versions}}
    )


def _of_definitions(cluster: SimulatedCluster) -> dict[str, dict[str, Any]]:
    return {
        obj["metadata"]["name"]: obj["spec"]
        for obj in cluster.store.list(API_SERVICES)
        if obj["metadata"].get("labels") == {_LABEL: "true"}
    }


def test_built_in_groups_have_theirs_from_the_start() -> None:
    """One that is deleted stays away."""
    cluster = _cluster()
    spec = {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}
    assert cluster.must_get(API_SERVICES, "", "v1.")["spec"] == spec
    assert cluster.must_get(API_SERVICES, "", "v2.autoscaling")["spec"]["versionPriority"] == 30
    cluster.delete(API_SERVICES, "", "v1.apps")
    cluster.run_for(1)
    assert cluster.get(API_SERVICES, "", "v1.apps") is None


def test_each_version_that_definitions_serve_has_one() -> None:
    """Until no definition serves it."""
    cluster = _cluster()
    _define(cluster, "sites", v1=True, v1beta1=False)
    _define(cluster, "pages", v1=True, v2=True)
    cluster.run_for(1)
    assert set(_of_definitions(cluster)) == {"v1.web.example.com", "v2.web.example.com"}
    cluster.delete(DEFINITIONS, "", "pages.web.example.com")
    cluster.run_for(1)
    assert set(_of_definitions(cluster)) == {"v1.web.example.com"}


def test_what_is_changed_comes_back() -> None:
    """Deleted or with another priority; one whose label is gone belongs to a user."""
    cluster = _cluster()
    _define(cluster, "sites", v1=True)
    cluster.run_for(1)
    before = _of_definitions(cluster)
    name = "v1.web.example.com"
    cluster.delete(API_SERVICES, "", name)
    cluster.run_for(1)
    assert _of_definitions(cluster) == before
    cluster.change(API_SERVICES, "", name, spec={**before[name], "versionPriority": 7})
    cluster.run_for(1)
    assert _of_definitions(cluster) == before
    cluster.change(API_SERVICES, "", name, metadata={"labels": None})
    cluster.delete(DEFINITIONS, "", "sites.web.example.com")
    cluster.run_for(1)
    assert cluster.must_get(API_SERVICES, "", name)["spec"] == before[name]
