from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.workloads import (
    DEPLOYMENTS,
    MAX_GENERATIONS,
    PODS,
    REPLICA_SETS,
    condition,
    finalizers_of,
    is_deleting,
    is_pod_active,
    is_pod_finished,
    is_pod_ready,
    lineage,
    spec_replicas,
    status_count,
    without_finalizer,
)
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource


def _pod(phase: str, *, ready: str = "", deleting: bool = False) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", **({"deletionTimestamp": "2023-01-01T00:00:00Z"} if deleting else {})},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}] if ready else []},
    }


@pytest.mark.parametrize(
    ("pod", "active", "finished", "ready"),
    [
        (_pod("Running", ready="True"), True, False, True),
        (_pod("Running", ready="False"), True, False, False),
        (_pod("Pending"), True, False, False),
        (_pod("Succeeded"), False, True, False),
        (_pod("Failed"), False, True, False),
        (_pod("Running", ready="True", deleting=True), False, False, True),
        ({"metadata": {"name": "p"}}, True, False, False),
    ],
)
def test_pods_count_as_replicas_until_they_end(
    pod: dict[str, Any], active: bool, finished: bool, ready: bool
) -> None:
    """A pod is active unless it is finished or being deleted; ready is its condition."""
    assert (is_pod_active(pod), is_pod_finished(pod), is_pod_ready(pod)) == (active, finished, ready)


def test_absent_numbers() -> None:
    """Replicas default to 1 in a spec and to 0 in a status; 0 stays 0."""
    assert spec_replicas({"spec": {}}) == 1
    assert spec_replicas({"spec": {"replicas": 0}}) == 0
    assert status_count({}, "replicas") == 0
    assert status_count({"status": {"replicas": 2}}, "replicas") == 2


def test_absent_conditions() -> None:
    """An object without a status has no conditions and is not being deleted."""
    assert condition({"metadata": {}}, "Ready") is None
    assert not is_deleting({"metadata": {}})


_FOOS = GroupResource("samplecontroller.k8s.io", "foos")


def _stored(store: Store, place: GroupResource, name: str, owner: str = "", **reference: Any) -> Object:
    metadata: dict[str, Any] = {"name": name, "namespace": "n", "uid": name}
    if owner:
        metadata["ownerReferences"] = [
            {"uid": owner, "name": owner, "kind": "X", "controller": True, **reference}
        ]
    transaction = Transaction(store)
    transaction.put(place, {"metadata": metadata})
    store.commit(transaction.changes)
    found = store.get(place, "n", name)
    assert found is not None
    return found


def _names(store: Store, pod: Object) -> list[str]:
    return [obj["metadata"]["name"] for obj in lineage(store, pod)]


def test_a_pod_comes_from_its_controllers_but_not_from_a_replica_set_in_between(store: Store) -> None:
    """Pod, Deployment, Foo, in this order; the ReplicaSet of a Deployment is passed over."""
    _stored(store, _FOOS, "foo")
    _stored(store, DEPLOYMENTS, "deployment", "foo")
    _stored(store, REPLICA_SETS, "set", "deployment")
    assert _names(store, _stored(store, PODS, "pod", "set")) == ["pod", "deployment", "foo"]


def test_a_replica_set_of_its_own_counts(store: Store) -> None:
    """Without a Deployment above it the ReplicaSet is where a pod comes from."""
    _stored(store, REPLICA_SETS, "set")
    assert _names(store, _stored(store, PODS, "pod", "set")) == ["pod", "set"]


def test_only_controllers_count_and_only_those_that_exist(store: Store) -> None:
    """An owner that is no controller, or that has gone, ends the line."""
    _stored(store, DEPLOYMENTS, "deployment")
    assert _names(store, _stored(store, PODS, "a", "deployment", controller=False)) == ["a"]
    assert _names(store, _stored(store, PODS, "b", "gone")) == ["b"]


def test_a_circle_ends(store: Store) -> None:
    """Objects that own each other are followed a bounded number of times."""
    _stored(store, _FOOS, "x", "y")
    _stored(store, _FOOS, "y", "x")
    assert len(_names(store, _stored(store, PODS, "pod", "x"))) == MAX_GENERATIONS


def test_the_last_finalizer_takes_the_field_along() -> None:
    """The others stay in their order, and the object in hand as it is."""
    obj = {"metadata": {"name": "p", "finalizers": ["a/x", "a/y", "a/z"]}}
    assert finalizers_of(without_finalizer(obj, "a/y")) == ["a/x", "a/z"]
    assert finalizers_of(obj) == ["a/x", "a/y", "a/z"]
    one = {"metadata": {"name": "p", "finalizers": ["a/x"]}}
    assert without_finalizer(one, "a/x") == {"metadata": {"name": "p"}}
    assert finalizers_of({"metadata": {"name": "p"}}) == []
