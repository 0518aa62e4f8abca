from __future__ import annotations

from handloop.sandbox.cluster.pace import Pace
from handloop.sandbox.cluster.quota_usage import QUOTAS
from handloop.sandbox.cluster.resource_quotas import ResourceQuotaController
from support.simulated_cluster import CONFIG_MAPS, SimulatedCluster, new_config_map

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
    """What comes and goes in the namespace is counted soon after, and written only when it changed."""
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
