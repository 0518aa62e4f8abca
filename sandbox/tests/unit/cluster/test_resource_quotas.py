from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.resource_quotas import QUOTAS, ResourceQuotaController, exceeded, used
from handloop_sandbox.cluster.workloads import PODS
from support.servers.simulated_cluster import CONFIG_MAPS, SimulatedCluster, new_config_map, new_pod

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"hard": {"configmaps": "5", "example.com/unknown": "1"}},
}


def _used(cluster: SimulatedCluster) -> dict[str, str]:
    status = cluster.must_get(QUOTAS, "default", "q")["status"]
    assert status["hard"] == {"configmaps": "5", "example.com/unknown": "1"}
    found: dict[str, str] = status["used"]
    return found


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


def test_one_too_many() -> None:
    """A quota that another object would exceed is reported for each name that counts it."""
    cluster = SimulatedCluster([])
    cluster.create(CONFIG_MAPS, new_config_map("a"))
    quota = _quota(hard={"configmaps": "1", "count/configmaps": "2", "pods": "0", "example.com/x": "1"})
    assert used(cluster.store, quota) == {"configmaps": "1", "count/configmaps": "1", "pods": "0"}
    one = {"configmaps": "1", "count/configmaps": "1"}
    assert exceeded(cluster.store, quota, one) == {
        "requested": "configmaps=1",
        "used": "configmaps=1",
        "limited": "configmaps=1",
    }
    assert exceeded(cluster.store, quota, {"secrets": "1"}) is None


def test_amounts_are_added_and_compared() -> None:
    """The requests of all pods that have not ended, in the spelling of the first."""
    cluster = SimulatedCluster([])
    for name, amount in (("a", "64Mi"), ("b", "1Gi"), ("c", "5Gi")):
        pod = new_pod(name)
        (container,) = pod["spec"]["containers"]
        spec = {**pod["spec"], "containers": [{**container, "resources": {"requests": {"memory": amount}}}]}
        cluster.create(PODS, {**pod, "spec": spec})
    cluster.change(PODS, "default", "c", status={"phase": "Succeeded"})
    quota = _quota(hard={"memory": "2Gi", "pods": "3", "count/pods": "9"})
    assert used(cluster.store, quota) == {"count/pods": "3", "memory": "1088Mi", "pods": "2"}
    assert exceeded(cluster.store, quota, {"memory": "960Mi"}) is None
    assert exceeded(cluster.store, quota, {"memory": "961Mi"}) == {
        "requested": "memory=961Mi",
        "used": "memory=1088Mi",
        "limited": "memory=2Gi",
    }


def test_scopes_leave_out_the_others() -> None:
    """A quota of best-effort pods counts those alone."""
    cluster = SimulatedCluster([])
    cluster.create(PODS, new_pod("p"))
    cluster.change(PODS, "default", "p", status={"qosClass": "BestEffort"})
    for scope, count in (("BestEffort", "1"), ("NotBestEffort", "0")):
        assert used(cluster.store, _quota(hard={"pods": "5"}, scopes=[scope])) == {"pods": count}
