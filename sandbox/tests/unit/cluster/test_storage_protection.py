"""What keeps a claim or a volume that is being deleted; each case was observed on kube-controller-manager."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.storage_protection import (
    CLAIMS,
    PROTECTIONS,
    VOLUMES,
    StorageProtectionController,
)
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.wire.resource import GroupResource
from support.servers.simulated_cluster import SimulatedCluster, new_pod


@pytest.fixture
def cluster() -> SimulatedCluster:
    """One with this controller alone."""
    return SimulatedCluster([StorageProtectionController(Pace())])


def _protected(cluster: SimulatedCluster, group_resource: GroupResource, *held: str) -> None:
    """An object a, with further finalizers."""
    namespace = {"namespace": "default"} if group_resource == CLAIMS else {}
    metadata = {"name": "a", **namespace, "finalizers": [PROTECTIONS[group_resource], *held]}
    kind = "PersistentVolumeClaim" if group_resource == CLAIMS else "PersistentVolume"
    cluster.create(group_resource, {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {}})


def _pod(cluster: SimulatedCluster, *, claim: str = "a", node: str = "n") -> None:
    spec: dict[str, Any] = {"nodeName": node, "terminationGracePeriodSeconds": 0}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    cluster.create(PODS, new_pod("p", **spec, volumes=volumes))


def _delete_claim(cluster: SimulatedCluster) -> bool:
    """Delete it. Returns: whether it is gone then."""
    cluster.delete(CLAIMS, "default", "a")
    cluster.run_for(1)
    return cluster.get(CLAIMS, "default", "a") is None


def test_a_claim_stays_until_it_is_deleted(cluster: SimulatedCluster) -> None:
    """Nobody uses it, and nobody deletes it: it keeps its finalizer."""
    _protected(cluster, CLAIMS)
    cluster.run_for(1)
    claim = cluster.must_get(CLAIMS, "default", "a")
    assert claim["metadata"]["finalizers"] == [PROTECTIONS[CLAIMS]]
    assert _delete_claim(cluster)


@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
def test_a_claim_stays_until_a_pod_on_a_node_is_gone(cluster: SimulatedCluster, phase: str) -> None:
    """Also if the pod has finished."""
    _protected(cluster, CLAIMS)
    _pod(cluster)
    cluster.change(PODS, "default", "p", status={"phase": phase})
    assert not _delete_claim(cluster)
    cluster.delete(PODS, "default", "p")
    cluster.run_for(1)
    assert cluster.get(CLAIMS, "default", "a") is None


@pytest.mark.parametrize("pod", [{"claim": "b"}, {"node": ""}], ids=["of another claim", "on no node"])
def test_other_pods_keep_no_claim(cluster: SimulatedCluster, pod: dict[str, str]) -> None:
    """A kubelet does not start a pod whose claim is being deleted."""
    _protected(cluster, CLAIMS)
    _pod(cluster, **pod)
    assert _delete_claim(cluster)


def test_other_finalizers_are_left(cluster: SimulatedCluster) -> None:
    """They are somebody else's."""
    _protected(cluster, CLAIMS, "example.com/held")
    assert not _delete_claim(cluster)
    claim = cluster.must_get(CLAIMS, "default", "a")
    assert claim["metadata"]["finalizers"] == ["example.com/held"]


def test_a_volume_stays_while_it_is_bound(cluster: SimulatedCluster) -> None:
    """By its phase, which a client writes: nothing binds volumes here."""
    _protected(cluster, VOLUMES)
    cluster.change(VOLUMES, "", "a", status={"phase": "Bound"})
    cluster.delete(VOLUMES, "", "a")
    cluster.run_for(1)
    assert cluster.must_get(VOLUMES, "", "a")["metadata"]["finalizers"] == [PROTECTIONS[VOLUMES]]
    cluster.change(VOLUMES, "", "a", status={"phase": "Released"})
    cluster.run_for(1)
    assert cluster.get(VOLUMES, "", "a") is None
