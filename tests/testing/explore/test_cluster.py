"""A cluster in virtual time."""

from __future__ import annotations

from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.virtual_threads import VirtualThreads

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def test_its_own_controllers_work_as_time_passes(cluster: VirtualCluster, threads: VirtualThreads) -> None:
    """A Deployment gets pods after some seconds of virtual time, and not before."""
    labels = {"app": "a"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
    cluster.send("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
    version = cluster.version
    assert "availableReplicas" not in cluster.send("GET", f"{DEPLOYMENTS}/a")["status"]
    threads.run_for(30)
    assert cluster.send("GET", f"{DEPLOYMENTS}/a")["status"]["availableReplicas"] == 2
    assert cluster.version > version
