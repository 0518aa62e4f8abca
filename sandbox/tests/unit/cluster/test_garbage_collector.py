"""The fate of owners and dependents; each case was observed on kube-controller-manager."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.garbage_collector import GarbageCollector
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS, REPLICA_SETS, is_deleting
from handloop_sandbox.storage.owner_references import references
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import (
    CONFIG_MAPS,
    NAMESPACES,
    SimulatedCluster,
    new_config_map,
    new_deployment,
    new_namespace,
)

_HELD = ["example.com/held"]
_NOBODY = "11111111-1111-1111-1111-111111111111"


@pytest.fixture
def cluster() -> SimulatedCluster:
    """One with this controller alone."""
    return SimulatedCluster([GarbageCollector(Pace())])


def _ref(owner: Object, *, block: bool = False, **changes: Any) -> dict[str, Any]:
    metadata = owner["metadata"]
    reference = {"apiVersion": "v1", "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**reference, **({"blockOwnerDeletion": True} if block else {}), **changes}


def _make(cluster: SimulatedCluster, name: str, *owners: dict[str, Any], held: bool = False) -> Object:
    finalizers = {"finalizers": _HELD} if held else {}
    return cluster.create(CONFIG_MAPS, new_config_map(name, owners=owners, **finalizers))


def _let_go(cluster: SimulatedCluster, name: str) -> None:
    cluster.change(CONFIG_MAPS, "default", name, metadata={"finalizers": None})


def _state(cluster: SimulatedCluster) -> dict[str, str]:
    """Each ConfigMap with its finalizers, `!` when it is being deleted."""
    return {
        obj["metadata"]["name"]: ",".join(obj["metadata"].get("finalizers", [])) + "!" * is_deleting(obj)
        for obj in cluster.store.list(CONFIG_MAPS)
    }


def test_dependent_of_an_absent_owner_goes(cluster: SimulatedCluster) -> None:
    """An object created or changed to refer to an owner that does not exist is deleted."""
    _make(cluster, "child", {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": _NOBODY})
    later = _make(cluster, "later")
    cluster.run_for(1)
    assert _state(cluster) == {"later": ""}
    cluster.change(
        CONFIG_MAPS,
        "default",
        "later",
        metadata={"ownerReferences": [_ref(later, uid=_NOBODY, name="nobody")]},
    )
    cluster.run_for(1)
    assert _state(cluster) == {}


def test_owner_must_have_the_name_and_the_uid(cluster: SimulatedCluster) -> None:
    """A reference with the right name and another UID, or the reverse, leads to no owner."""
    owner = _make(cluster, "owner")
    _make(cluster, "uid", _ref(owner, uid=_NOBODY))
    _make(cluster, "name", _ref(owner, name="other"))
    _make(cluster, "right", _ref(owner))
    cluster.run_for(1)
    assert _state(cluster) == {"owner": "", "right": ""}


def test_reference_to_an_unknown_kind_is_left_alone(cluster: SimulatedCluster) -> None:
    """Nothing is concluded from a kind the server does not serve."""
    _make(cluster, "child", {"apiVersion": "example.com/v1", "kind": "Gizmo", "name": "x", "uid": _NOBODY})
    cluster.run_for(5)
    assert _state(cluster) == {"child": ""}


def test_last_of_several_owners_takes_the_dependent_along(cluster: SimulatedCluster) -> None:
    """With one owner left the lost reference is dropped; with none the object goes."""
    first, second = _make(cluster, "first"), _make(cluster, "second")
    _make(cluster, "child", _ref(first), _ref(second))
    cluster.delete(CONFIG_MAPS, "default", "first")
    cluster.run_for(1)
    child = cluster.must_get(CONFIG_MAPS, "default", "child")
    assert [owner["name"] for owner in references(child)] == ["second"]
    cluster.delete(CONFIG_MAPS, "default", "second")
    cluster.run_for(1)
    assert _state(cluster) == {}


def test_orphaning_drops_the_reference(cluster: SimulatedCluster) -> None:
    """With Orphan the dependent stays without an owner, and the owner goes."""
    owner = _make(cluster, "owner")
    _make(cluster, "child", _ref(owner, block=True))
    cluster.delete(CONFIG_MAPS, "default", "owner", "Orphan")
    cluster.run_for(1)
    assert _state(cluster) == {"child": ""}
    assert references(cluster.must_get(CONFIG_MAPS, "default", "child")) == []


def test_foreground_waits_for_blocking_dependents(cluster: SimulatedCluster) -> None:
    """The owner stays with its finalizer until a dependent that blocks it and is held has gone."""
    owner = _make(cluster, "owner")
    _make(cluster, "child", _ref(owner, block=True), held=True)
    cluster.delete(CONFIG_MAPS, "default", "owner", "Foreground")
    cluster.run_for(5)
    assert _state(cluster) == {"owner": "foregroundDeletion!", "child": "example.com/held!"}
    _let_go(cluster, "child")
    cluster.run_for(1)
    assert _state(cluster) == {}


def test_foreground_does_not_wait_for_others(cluster: SimulatedCluster) -> None:
    """A dependent without blockOwnerDeletion is deleted too, but the owner does not wait for it."""
    owner = _make(cluster, "owner")
    _make(cluster, "child", _ref(owner), held=True)
    cluster.delete(CONFIG_MAPS, "default", "owner", "Foreground")
    cluster.run_for(1)
    assert _state(cluster) == {"child": "example.com/held!"}


def test_foreground_spares_what_has_another_owner(cluster: SimulatedCluster) -> None:
    """A dependent with a second owner that stays only loses the reference."""
    first, second = _make(cluster, "first"), _make(cluster, "second")
    _make(cluster, "child", _ref(first, block=True), _ref(second, block=True))
    cluster.delete(CONFIG_MAPS, "default", "first", "Foreground")
    cluster.run_for(1)
    assert _state(cluster) == {"second": "", "child": ""}


def test_foreground_goes_down_the_whole_chain(cluster: SimulatedCluster) -> None:
    """Each level waits for the one below: the leaf goes first, the owner last."""
    top = _make(cluster, "top")
    middle = _make(cluster, "middle", _ref(top, block=True))
    _make(cluster, "leaf", _ref(middle, block=True), held=True)
    cluster.delete(CONFIG_MAPS, "default", "top", "Foreground")
    cluster.run_for(5)
    waiting = "foregroundDeletion!"
    assert _state(cluster) == {"top": waiting, "middle": waiting, "leaf": "example.com/held!"}
    _let_go(cluster, "leaf")
    cluster.run_for(1)
    gone = [change.name for _, change in cluster.changes if change.type == "DELETED"]
    assert gone == ["leaf", "middle", "top"]


def test_background_takes_the_owner_at_once(cluster: SimulatedCluster) -> None:
    """With Background the owner goes first, and a held dependent waits alone."""
    owner = _make(cluster, "owner")
    _make(cluster, "child", _ref(owner, block=True), held=True)
    cluster.delete(CONFIG_MAPS, "default", "owner")
    cluster.run_for(1)
    assert _state(cluster) == {"child": "example.com/held!"}


def test_circle_is_broken(cluster: SimulatedCluster) -> None:
    """Two objects that own each other do not wait for each other for ever."""
    first = _make(cluster, "first")
    second = _make(cluster, "second", _ref(first, block=True))
    cluster.change(CONFIG_MAPS, "default", "first", metadata={"ownerReferences": [_ref(second, block=True)]})
    cluster.delete(CONFIG_MAPS, "default", "first", "Foreground")
    cluster.run_for(5)
    assert _state(cluster) == {}


def test_owner_in_another_namespace_counts_as_absent(cluster: SimulatedCluster) -> None:
    """The dependent goes, and a Warning event has the reason."""
    cluster.create(NAMESPACES, new_namespace("other"))
    owner = cluster.create(
        CONFIG_MAPS, {**new_config_map("owner"), "metadata": {"name": "owner", "namespace": "other"}}
    )
    _make(cluster, "child", _ref(owner))
    cluster.run_for(1)
    assert cluster.store.list(CONFIG_MAPS, "default") == []
    coordinates = f"v1/ConfigMap, namespace: default, name: owner, uid: {owner['metadata']['uid']}"
    assert cluster.messages("OwnerRefInvalidNamespace") == [
        f'ownerRef [{coordinates}] does not exist in namespace "default"'
    ]


def test_cluster_wide_owner_of_a_namespaced_object(cluster: SimulatedCluster) -> None:
    """A namespaced object may belong to one without a namespace, and stays as long as it is there."""
    (home,) = cluster.store.list(NAMESPACES)
    _make(cluster, "child", _ref(home))
    cluster.run_for(1)
    assert _state(cluster) == {"child": ""}


def test_namespaced_owner_of_a_cluster_wide_object_is_ignored(cluster: SimulatedCluster) -> None:
    """Nothing is concluded from a reference that cannot be valid."""
    owner = _make(cluster, "owner")
    namespace = new_namespace("child")
    namespace["metadata"]["ownerReferences"] = [_ref(owner, uid=_NOBODY)]
    cluster.create(NAMESPACES, namespace)
    cluster.run_for(5)
    assert not is_deleting(cluster.must_get(NAMESPACES, "", "child"))


def test_foreground_deletion_of_a_deployment() -> None:
    """Pods go first, then the ReplicaSet, then the Deployment; nothing is made anew meanwhile."""
    cluster = SimulatedCluster()
    cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_for(5)
    cluster.delete(DEPLOYMENTS, "default", "web", "Foreground")
    cluster.run_for(10)
    gone = [c.group_resource for _, c in cluster.changes if c.type == "DELETED"]
    assert gone == [PODS, PODS, PODS, REPLICA_SETS, DEPLOYMENTS]


def test_restart_finds_what_was_left_undone(cluster: SimulatedCluster) -> None:
    """A collector that starts later deletes what lost its owner before."""
    owner = _make(cluster, "owner")
    _make(cluster, "child", _ref(owner))
    cluster.restart([])
    cluster.delete(CONFIG_MAPS, "default", "owner")
    cluster.run_for(1)
    assert _state(cluster) == {"child": ""}
    cluster.restart([GarbageCollector(Pace())])
    cluster.run_for(1)
    assert _state(cluster) == {}
