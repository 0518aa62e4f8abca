from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.cluster.pod_usage import LOAD_ANNOTATIONS, measured
from handloop.sandbox.cluster.workloads import DEPLOYMENTS, PODS, REPLICA_SETS
from handloop.sandbox.storage.store import Store
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.storage.transaction import Transaction
from handloop.sandbox.wire.resource import GroupResource

_CPU = LOAD_ANNOTATIONS["cpu"]
_RUNNING: dict[str, Any] = {"state": {"running": {}}}


class _Family:
    """A Deployment, its ReplicaSet and pods of two containers each."""

    def __init__(self, load: str = "", autoscaler_load: str = "") -> None:
        self.store = Store()
        self.deployment = self.put(DEPLOYMENTS, "web", "", load)
        self.put(REPLICA_SETS, "set", "web", "")
        self.autoscaler = {"metadata": {"name": "hpa", "uid": "hpa", **_annotated(autoscaler_load)}}
        self.pods: list[Object] = []

    def put(self, place: GroupResource, name: str, owner: str, load: str, **fields: Any) -> Object:
        metadata: dict[str, Any] = {"name": name, "namespace": "n", "uid": name, **_annotated(load)}
        if owner:
            metadata["ownerReferences"] = [{"uid": owner, "name": owner, "kind": "X", "controller": True}]
        transaction = Transaction(self.store)
        transaction.put(place, {"metadata": metadata | fields.pop("metadata", {}), **fields})
        self.store.commit(transaction.changes)
        found = self.store.get(place, "n", name)
        assert found is not None
        return found

    def pod(
        self, name: str, *, load: str = "", ready: bool = True, runs: bool = True, **metadata: str
    ) -> None:
        statuses = [_RUNNING, _RUNNING if runs else {"state": {"waiting": {}}}]
        conditions = [{"type": "Ready", "status": str(ready)}]
        spec = {"containers": [{"name": "a"}, {"name": "b"}]}
        status = {"containerStatuses": statuses, "conditions": conditions}
        self.pods.append(self.put(PODS, name, "set", load, spec=spec, status=status, metadata=metadata))

    def measured(self, resource: str = "cpu", container: str = "") -> dict[str, int] | None:
        scalers = (self.deployment, self.autoscaler)
        return measured(self.store, self.pods, scalers, resource, container=container)


def _annotated(load: str) -> dict[str, Any]:
    return {"annotations": {_CPU: load}} if load else {}


def test_a_load_is_shared_by_the_pods_that_are_ready() -> None:
    """What a Deployment has to do is spread over its ready pods; the others idle."""
    family = _Family(load="1")
    family.pod("a")
    family.pod("b")
    family.pod("c", ready=False)
    family.pod("d", deletionTimestamp="2024-01-01T00:00:00Z")
    assert family.measured() == {"a": 500, "b": 500, "c": 0, "d": 0}


def test_a_pod_whose_containers_do_not_all_run_is_not_measured() -> None:
    """As with a metrics server: no sample rather than zero."""
    family = _Family(load="100m")
    family.pod("a")
    family.pod("b", ready=False, runs=False)
    assert family.measured() == {"a": 100}


def test_the_nearest_annotation_wins() -> None:
    """A pod's own load is its alone; the Deployment's goes before the autoscaler's."""
    family = _Family(load="300m", autoscaler_load="9")
    family.pod("a", load="1200m")
    family.pod("b")
    assert family.measured() == {"a": 1200, "b": 300}
    only_above = _Family(autoscaler_load="9")
    only_above.pod("a")
    only_above.pod("b")
    assert only_above.measured() == {"a": 4500, "b": 4500}


def test_a_container_has_its_share() -> None:
    """A pod's usage is spread evenly over its containers; one that it lacks has none."""
    family = _Family(load="300m")
    family.pod("a")
    assert family.measured(container="b") == {"a": 150}
    assert family.measured(container="z") == {}


@pytest.mark.parametrize("load", ["", "much"])
def test_without_a_load_there_are_no_metrics(load: str) -> None:
    """Nobody asked, or not with a quantity: None, as without a metrics server."""
    family = _Family(load=load)
    family.pod("a")
    assert family.measured() is None
    assert _Family(load=load).measured() is None


def test_other_resources_are_not_measured() -> None:
    """A load of CPU says nothing about memory, and there is none of anything else."""
    family = _Family(load="1")
    family.pod("a")
    assert family.measured("memory") is None
    assert family.measured("ephemeral-storage") is None


def test_a_load_without_pods_is_an_empty_measurement() -> None:
    """Somebody asked, but nothing runs: there are metrics, of no pod."""
    assert _Family(load="1").measured() == {}
