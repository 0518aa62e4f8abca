from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.pod_faults import (
    FAULT_ANNOTATION,
    PodFault,
    annotated,
    concerned,
    fault_of_pod,
    tag_of,
)
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS, REPLICA_SETS
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource

_FOOS = GroupResource("samplecontroller.k8s.io", "foos")


class _Family:
    """A Foo, its Deployment, the ReplicaSet and one pod, each controlled by the one before."""

    def __init__(self, *images: str) -> None:
        self.store = Store()
        self.last: list[Change] = []
        containers = [
            {"name": f"c{index}", "image": image} for index, image in enumerate(images or ("nginx:1",))
        ]
        self.put(_FOOS, "foo", "")
        self.put(DEPLOYMENTS, "deployment", "foo")
        self.put(REPLICA_SETS, "replicaset", "deployment")
        self.put(PODS, "pod", "replicaset", spec={"containers": containers})

    def put(self, place: GroupResource, name: str, owner: str, fault: str = "", **fields: Any) -> None:
        metadata: dict[str, Any] = {"name": name, "namespace": "n", "uid": name}
        if owner:
            metadata["ownerReferences"] = [{"uid": owner, "name": owner, "kind": "X", "controller": True}]
        if fault:
            metadata["annotations"] = {FAULT_ANNOTATION: fault}
        transaction = Transaction(self.store)
        transaction.put(place, {"metadata": metadata, **fields})
        self.last = transaction.changes
        self.store.commit(transaction.changes)

    @property
    def pod(self) -> Object:
        found = self.store.get(PODS, "n", "pod")
        assert found is not None
        return found

    def fault(self) -> PodFault | None:
        active_fault = fault_of_pod(self.store, self.pod)
        return active_fault.fault if active_fault else None


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", ""),
        ("nginx:crash", "crash"),
        ("host:5000/a/nginx", ""),
        ("host:5000/a/nginx:oom", "oom"),
        ("nginx:slow@sha256:abc", "slow"),
    ],
)
def test_tag_of_an_image(image: str, tag: str) -> None:
    """The tag is what follows the last colon of the last path segment, without a digest."""
    assert tag_of(image) == tag


@pytest.mark.parametrize("fault", list(PodFault))
def test_every_fault_can_be_asked_for_by_tag(fault: PodFault) -> None:
    """An image tag that is a fault's name afflicts the containers with that tag, and only those."""
    family = _Family("nginx:1", f"nginx:{fault}")
    active_fault = fault_of_pod(family.store, family.pod)
    assert active_fault == (fault, frozenset({"c1"}))


@pytest.mark.parametrize(
    ("place", "name", "owner"),
    [(_FOOS, "foo", ""), (DEPLOYMENTS, "deployment", "foo"), (PODS, "pod", "replicaset")],
)
def test_every_fault_can_be_asked_for_by_annotation(place: GroupResource, name: str, owner: str) -> None:
    """The annotation on a custom object, its Deployment or the pod afflicts all containers."""
    family = _Family("nginx:1", "nginx:2")
    fields = {"spec": family.pod["spec"]} if place == PODS else {}
    family.put(place, name, owner, "crash", **fields)
    assert fault_of_pod(family.store, family.pod) == (PodFault.CRASH, frozenset({"c0", "c1"}))


def test_nearest_annotation_wins_and_can_be_none() -> None:
    """The Deployment's word counts before the Foo's, any before the image; another word means no fault."""
    family = _Family("nginx:oom")
    assert family.fault() is PodFault.OOM
    family.put(_FOOS, "foo", "", "crash")
    assert family.fault() is PodFault.CRASH
    family.put(DEPLOYMENTS, "deployment", "foo", "slow")
    assert family.fault() is PodFault.SLOW
    family.put(DEPLOYMENTS, "deployment", "foo", "none")
    assert family.fault() is None


def test_replica_sets_annotation_counts_only_without_a_deployment() -> None:
    """A ReplicaSet keeps annotations its Deployment no longer has, so they are passed over."""
    family = _Family()
    family.put(REPLICA_SETS, "replicaset", "deployment", "crash")
    assert family.fault() is None
    family.put(REPLICA_SETS, "replicaset", "", "crash")
    assert family.fault() is PodFault.CRASH


def test_circle_of_owners_ends() -> None:
    """Owners that own each other do not hang the search."""
    family = _Family()
    family.put(_FOOS, "foo", "deployment")
    assert family.fault() is None


def test_changed_annotation_concerns_the_pods_below() -> None:
    """A fault that appears on a Foo concerns its pods; any other change of it concerns none."""
    family = _Family()
    family.put(_FOOS, "foo", "", "crash")
    assert [pod["metadata"]["name"] for pod in concerned(family.store, family.last[0])] == ["pod"]
    family.put(_FOOS, "foo", "", "crash", spec={"replicas": 2})
    assert list(concerned(family.store, family.last[0])) == []
    assert annotated({"metadata": {}}) == ""
