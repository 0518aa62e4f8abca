from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.namespaces import (
    CONFIG_MAPS,
    NAMESPACES,
    ROOT_CA,
    SERVICE_ACCOUNTS,
    NamespaceController,
)
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import SimulatedCluster, new_config_map, new_deployment, new_namespace


def _cluster(**options: Any) -> SimulatedCluster:
    cluster = SimulatedCluster([NamespaceController(Pace(), **options)])
    cluster.run_for(1)
    return cluster


def _conditions(namespace: Object) -> dict[str, tuple[str, str, str]]:
    listed = namespace["status"].get("conditions") or ()
    return {entry["type"]: (entry["status"], entry["reason"], entry["message"]) for entry in listed}


def test_new_namespace_is_equipped() -> None:
    """Every namespace gets the default service account and the root certificates."""
    cluster = _cluster(root_ca="PEM")
    published = cluster.must_get(CONFIG_MAPS, "default", ROOT_CA)
    assert published["data"] == {"ca.crt": "PEM"}
    description = published["metadata"]["annotations"]["kubernetes.io/description"]
    assert description.startswith(
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal"
    )
    assert description.endswith("No other usage is guaranteed across distributions of Kubernetes clusters.")
    assert cluster.must_get(SERVICE_ACCOUNTS, "default", "default")["kind"] == "ServiceAccount"


def test_equipment_comes_back() -> None:
    """Deleting the service account or the certificates makes them anew; other deletions make nothing."""
    cluster = _cluster()
    cluster.create(CONFIG_MAPS, new_config_map("mine"))
    for group_resource, name in (
        (CONFIG_MAPS, ROOT_CA),
        (SERVICE_ACCOUNTS, "default"),
        (CONFIG_MAPS, "mine"),
    ):
        cluster.delete(group_resource, "default", name)
    cluster.run_for(1)
    assert [obj["metadata"]["name"] for obj in cluster.store.list(CONFIG_MAPS)] == [ROOT_CA]
    assert len(cluster.store.list(SERVICE_ACCOUNTS)) == 1


def test_empty_namespace_goes_with_its_equipment() -> None:
    """Deleting a namespace removes its content, then its finalizer, and with it the namespace."""
    cluster = _cluster()
    cluster.delete(NAMESPACES, "", "default")
    cluster.run_for(2)
    assert cluster.get(NAMESPACES, "", "default") is None
    assert cluster.store.list(CONFIG_MAPS) == []
    assert cluster.store.list(SERVICE_ACCOUNTS) == []
    assert _conditions(cluster.history(NAMESPACES)[-1]) == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
        "NamespaceFinalizersRemaining": (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    }


def test_held_content_keeps_the_namespace_and_is_reported() -> None:
    """Objects with finalizers are named in the conditions with the real texts, and go without them."""
    cluster = _cluster()
    cluster.create(CONFIG_MAPS, new_config_map("one", finalizers=["example.com/hold"]))
    cluster.create(CONFIG_MAPS, new_config_map("two", finalizers=["example.com/hold", "example.com/b"]))
    cluster.delete(NAMESPACES, "", "default")
    cluster.run_for(5)
    found = _conditions(cluster.must_get(NAMESPACES, "", "default"))
    remaining = "Some resources are remaining: configmaps. has 2 resource instances"
    assert found["NamespaceContentRemaining"] == ("True", "SomeResourcesRemain", remaining)
    held = (
        "Some content in the namespace has finalizers remaining: "
        "example.com/b in 1 resource instances, example.com/hold in 2 resource instances"
    )
    assert found["NamespaceFinalizersRemaining"] == ("True", "SomeFinalizersRemain", held)
    written = len(cluster.writes)
    cluster.run_for(600)
    assert len(cluster.writes) == written
    for name in ("one", "two"):
        cluster.change(CONFIG_MAPS, "default", name, metadata={"finalizers": None})
    cluster.run_for(1)
    assert cluster.get(NAMESPACES, "", "default") is None


def test_deletion_of_a_busy_namespace(cluster: SimulatedCluster) -> None:
    """Pods go before what made them, nothing new appears, and nothing is left."""
    cluster.create(NAMESPACES, new_namespace("other"))
    cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_for(5)
    cluster.delete(NAMESPACES, "", "default")
    cluster.run_until(lambda: cluster.get(NAMESPACES, "", "default") is None, within=20)
    for group_resource in cluster.store.group_resources():
        if group_resource != NAMESPACES:
            assert cluster.store.list(group_resource, "default") == []
    gone = [change.group_resource for _, change in cluster.changes if change.type == "DELETED"]
    assert gone[:3] == [PODS] * 3
    assert gone[-1] == NAMESPACES
    cluster.run_for(100)
    assert cluster.get(SERVICE_ACCOUNTS, "other", "default") is not None
    assert cluster.store.list(PODS) == []
