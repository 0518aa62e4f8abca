from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.resource_quotas import (
    QUOTAS,
    ResourceQuotaController,
    counted_collection,
    exceeded,
    used,
)
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.wire.resource import GroupResource
from support.servers.simulated_cluster import CONFIG_MAPS, SimulatedCluster, new_config_map, new_pod

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"hard": {"configmaps": "5", "cpu": "1"}},
}


def _used(cluster: SimulatedCluster) -> dict[str, str]:
    status = cluster.must_get(QUOTAS, "default", "q")["status"]
    assert status["hard"] == {"configmaps": "5", "cpu": "1"}
    used: dict[str, str] = status["used"]
    return used


def test_the_status_follows_what_there_is() -> None:
    """A new or deleted object in the namespace is counted soon after, and written only when that changed."""
    cluster = SimulatedCluster([ResourceQuotaController(Pace())])
    cluster.create(CONFIG_MAPS, new_config_map("a"))
    cluster.create(QUOTAS, QUOTA)
    cluster.run_for(1)
    assert _used(cluster) == {"configmaps": "1"}
    cluster.create(CONFIG_MAPS, new_config_map("b"))
    cluster.run_for(1)
    assert _used(cluster) == {"configmaps": "2"}
    cluster.delete(CONFIG_MAPS, "default", "a")
    cluster.run_for(1)
    assert _used(cluster) == {"configmaps": "1"}
    written = len(cluster.writes)
    cluster.change(CONFIG_MAPS, "default", "b", data={"a": "1"})
    cluster.run_for(1)
    assert len(cluster.writes) == written


def test_other_namespaces_do_not_count() -> None:
    """A quota knows its own namespace only, and a deleted one is forgotten."""
    cluster = SimulatedCluster([ResourceQuotaController(Pace())])
    cluster.create(QUOTAS, QUOTA)
    other = new_config_map("a")
    cluster.create(CONFIG_MAPS, {**other, "metadata": {"name": "a", "namespace": "other"}})
    cluster.run_for(1)
    assert _used(cluster) == {"configmaps": "0"}
    cluster.delete(QUOTAS, "default", "q")
    written = len(cluster.writes)
    cluster.create(CONFIG_MAPS, new_config_map("b"))
    cluster.run_for(1)
    assert len(cluster.writes) == written


def _quota(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "q", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("name", "collection"),
    [
        ("configmaps", GroupResource("", "configmaps")),
        ("count/configmaps", GroupResource("", "configmaps")),
        ("count/widgets.example.org", GroupResource("example.org", "widgets")),
        ("requests.cpu", None),
        ("services.nodeports", None),
    ],
)
def test_what_a_name_counts(name: str, collection: GroupResource | None) -> None:
    """Names count collections; cpu and the kinds of Services are not counted here."""
    assert counted_collection(name) == collection


def test_one_too_many() -> None:
    """A quota that another object would exceed is reported for each name that counts its collection."""
    cluster = SimulatedCluster([])
    cluster.create(CONFIG_MAPS, new_config_map("a"))
    quota = _quota(hard={"configmaps": "1", "count/configmaps": "2", "pods": "0", "cpu": "1"})
    assert used(cluster.store, "default", quota) == {"configmaps": 1, "count/configmaps": 1, "pods": 0}
    assert exceeded(cluster.store, "default", quota, CONFIG_MAPS) == {
        "requested": "configmaps=1",
        "used": "configmaps=1",
        "limited": "configmaps=1",
    }
    assert exceeded(cluster.store, "default", quota, GroupResource("", "secrets")) is None


def test_quotas_with_scopes_count_nothing() -> None:
    """What only some objects are counted for is not counted at all."""
    quota = _quota(hard={"pods": "0"}, scopes=["BestEffort"])
    assert used(SimulatedCluster([]).store, "default", quota) == {}


def test_finished_pods() -> None:
    """A pod that has ended counts by the newer name only."""
    cluster = SimulatedCluster([])
    cluster.create(PODS, new_pod("p"))
    cluster.change(PODS, "default", "p", status={"phase": "Succeeded"})
    quota = _quota(hard={"pods": "1", "count/pods": "1"})
    assert used(cluster.store, "default", quota) == {"count/pods": 1, "pods": 0}
