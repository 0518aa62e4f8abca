"""What a rival does before a write of the operator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop_explore.cluster import VirtualCluster
from handloop_explore.difference import differences
from handloop_explore.rivals import FINALIZER, HELD_SECONDS, RIVAL, Rivals
from handloop_explore.virtual_threads import VirtualThreads
from support.builders.workloads import FOO


@pytest.fixture
def told() -> list[str]:
    """The lines of the story."""
    return []


@pytest.fixture
def rivals(cluster: VirtualCluster, told: list[str]) -> Rivals:
    return Rivals(cluster, lambda _who, words: told.append(words))


def test_rivals_edit_delete_recreate_and_take_names(rivals: Rivals, cluster: VirtualCluster) -> None:
    """Only where there is something to do."""
    path, body = cluster.path_of(FOO), json.dumps(FOO).encode()
    assert not rivals.act("rival-edit", path, None)
    assert rivals.act("rival-takes-name", path, body)
    assert not rivals.act("rival-takes-name", path, body)
    first = cluster.send("GET", path)
    assert first["metadata"]["labels"] == {RIVAL: "owner"}
    assert first["spec"] == {"deploymentName": "a-rival", "replicas": 2}
    assert rivals.act("rival-edit", path, None)
    assert rivals.act("rival-recreate", path, None)
    again = cluster.send("GET", path)
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert (again["spec"], again["metadata"]["labels"]) == (first["spec"], {RIVAL: "edit"})
    assert rivals.act("rival-delete", path, None)
    assert cluster.find(path) is None


def test_what_has_a_finalizer_is_made_again_once_it_is_gone(
    threads: VirtualThreads, rivals: Rivals, cluster: VirtualCluster
) -> None:
    """As `kubectl replace --force` waits; what already goes is left to go."""
    path = cluster.path_of(FOO)
    held = {**FOO, "metadata": {"name": "a", "finalizers": ["example.com/hold"]}}
    first = cluster.send("POST", cluster.path_of(FOO, named=False), held)
    assert rivals.act("rival-recreate", path, None)
    assert not rivals.act("rival-recreate", path, None)
    threads.run_for(5)
    cluster.send("PATCH", path, {"metadata": {"finalizers": None}})
    threads.run_for(5)
    assert cluster.send("GET", path)["metadata"]["uid"] != first["metadata"]["uid"]


def test_an_object_under_a_finalizer_stays_for_a_while(
    threads: VirtualThreads, rivals: Rivals, cluster: VirtualCluster, told: list[str]
) -> None:
    """It is being deleted, and goes when the rival lets it."""
    path = cluster.path_of(FOO)
    cluster.send("POST", cluster.path_of(FOO, named=False), FOO)
    assert rivals.act("rival-finalizer", path, None)
    metadata = cluster.send("GET", path)["metadata"]
    assert metadata["finalizers"] == [FINALIZER]
    assert "deletionTimestamp" in metadata
    threads.run_for(HELD_SECONDS - 1)
    assert cluster.find(path)
    threads.run_for(1)
    assert cluster.find(path) is None
    assert told == [f"the rival removes its finalizer from {path}"]


def controlled(cluster: VirtualCluster) -> dict[str, Any]:
    """A Deployment of a Foo."""
    owner = cluster.send("POST", cluster.path_of(FOO, named=False), FOO)
    reference = {"apiVersion": FOO["apiVersion"], "kind": "Foo", "name": "a", "controller": True}
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}]},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    return cluster.send("POST", cluster.path_of(manifest, named=False), manifest)


def test_a_child_is_taken_over_and_given_back(
    threads: VirtualThreads, rivals: Rivals, cluster: VirtualCluster, told: list[str]
) -> None:
    """An object without a controller is nobody's to take."""
    child = controlled(cluster)
    path = cluster.path_of(child)
    assert not rivals.act("rival-owner", cluster.path_of(FOO), None)
    assert rivals.act("rival-owner", path, None)
    (owner,) = cluster.send("GET", path)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("Namespace", True)
    threads.run_for(HELD_SECONDS)
    assert cluster.send("GET", path)["metadata"]["ownerReferences"] == child["metadata"]["ownerReferences"]
    assert told == [f"the rival gives {path} back"]


def test_a_deployment_is_scaled_and_nothing_else(rivals: Rivals, cluster: VirtualCluster) -> None:
    """A Foo has replicas, too: to change them would be another wish."""
    path = cluster.path_of(controlled(cluster))
    assert not rivals.act("rival-scale", cluster.path_of(FOO), None)
    assert rivals.act("rival-scale", path, None)
    assert cluster.send("GET", path)["spec"]["replicas"] == 5


SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "a"},
    "type": "Opaque",
    "data": {"password": "b2xk"},
}


def test_a_taken_name_holds_something_else(rivals: Rivals, cluster: VirtualCluster) -> None:
    """Whoever takes it for its own has something to write; what is refused is tried in another field."""
    path = cluster.path_of(SECRET)
    assert rivals.act("rival-takes-name", path, json.dumps(SECRET).encode())
    found = cluster.send("GET", path)
    assert (found["type"], found["data"].keys()) == ("Opaque", {"password"})
    assert found["data"]["password"] != "b2xk"
    child = controlled(cluster)
    cluster.send("DELETE", path := cluster.path_of(child))
    wanted = {**child, "metadata": {"name": "a"}}
    assert rivals.act("rival-takes-name", path, json.dumps(wanted).encode())
    assert cluster.send("GET", path)["spec"] != child["spec"]


def test_nobody_else_has_a_name_that_holds_a_uid(rivals: Rivals, cluster: VirtualCluster) -> None:
    """Such as that of a bucket of an object."""
    name = "bucket-0f8fad5b-d9cb-469f-a165-70867728950e"
    path = cluster.path_of({**SECRET, "metadata": {"name": name}})
    assert not rivals.act("rival-takes-name", path, json.dumps(SECRET).encode())
    assert cluster.find(path) is None


def test_a_field_drifts_that_a_client_has_set(rivals: Rivals, cluster: VirtualCluster) -> None:
    """No default, no key of a list, and nothing else; the object has a label of the rival."""
    child = controlled(cluster)
    path = cluster.path_of(child)
    assert rivals.act("rival-drift", path, None)
    found = cluster.send("GET", path)
    assert found["metadata"]["labels"] == {RIVAL: "edit"}
    assert found["metadata"]["ownerReferences"] == child["metadata"]["ownerReferences"]
    assert [*differences(child["spec"], found["spec"])] == ["replicas 1 -> 2"]
