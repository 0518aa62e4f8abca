"""A cluster in virtual time."""

from __future__ import annotations

import pytest

from handloop.testing.explore.cluster import RefusedError, VirtualCluster
from handloop.testing.explore.virtual_threads import VirtualThreads
from support.builders.workloads import FOO

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "kube-system"}}
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


def test_a_manifest_has_its_path(cluster: VirtualCluster) -> None:
    """By what the server says of its kind; a cluster-wide kind has no namespace."""
    assert cluster.path_of(FOO).endswith("/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos/a")
    assert cluster.path_of(CONFIG, named=False) == "/api/v1/namespaces/kube-system/configmaps"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert cluster.path_of(node) == "/api/v1/nodes/n"
    with pytest.raises(RefusedError, match="no kind Nonsense in v1"):
        cluster.path_of({"apiVersion": "v1", "kind": "Nonsense", "metadata": {}})


def test_a_refusal_is_an_error_and_nothing_found_is_none(cluster: VirtualCluster) -> None:
    """With the server's words."""
    assert cluster.find(cluster.path_of(FOO)) is None
    with pytest.raises(RefusedError, match=r'foos\.samplecontroller\.k8s\.io "a" not found'):
        cluster.send("DELETE", cluster.path_of(FOO))
