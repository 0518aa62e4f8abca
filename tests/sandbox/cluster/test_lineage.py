from __future__ import annotations

from typing import Any

from handloop.sandbox.cluster.lineage import MAX_GENERATIONS, lineage
from handloop.sandbox.cluster.workloads import DEPLOYMENTS, PODS, REPLICA_SETS
from handloop.sandbox.storage.store import Store
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.storage.transaction import Transaction
from handloop.sandbox.wire.resource import GroupResource

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


def test_a_pod_comes_from_its_controllers_but_not_from_a_replica_set_in_between() -> None:
    """Pod, Deployment, Foo, in this order; the ReplicaSet of a Deployment is passed over."""
    store = Store()
    _stored(store, _FOOS, "foo")
    _stored(store, DEPLOYMENTS, "deployment", "foo")
    _stored(store, REPLICA_SETS, "set", "deployment")
    assert _names(store, _stored(store, PODS, "pod", "set")) == ["pod", "deployment", "foo"]


def test_a_replica_set_of_its_own_counts() -> None:
    """Without a Deployment above it the ReplicaSet is where a pod comes from."""
    store = Store()
    _stored(store, REPLICA_SETS, "set")
    assert _names(store, _stored(store, PODS, "pod", "set")) == ["pod", "set"]


def test_only_controllers_count_and_only_those_that_exist() -> None:
    """An owner that is no controller, or that has gone, ends the line."""
    store = Store()
    _stored(store, DEPLOYMENTS, "deployment")
    assert _names(store, _stored(store, PODS, "a", "deployment", controller=False)) == ["a"]
    assert _names(store, _stored(store, PODS, "b", "gone")) == ["b"]


def test_a_circle_ends() -> None:
    """Objects that own each other are followed a bounded number of times."""
    store = Store()
    _stored(store, _FOOS, "x", "y")
    _stored(store, _FOOS, "y", "x")
    assert len(_names(store, _stored(store, PODS, "pod", "x"))) == MAX_GENERATIONS
