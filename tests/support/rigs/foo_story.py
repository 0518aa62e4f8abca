"""What people see of a Foo, from the API server."""

from __future__ import annotations

from typing import Any

from support.servers.cluster import Cluster, Object, Objects


def is_available(objects: Objects, name: str, replicas: int) -> bool:
    """Whether a Foo's status has so many."""
    return name in objects and objects[name].get("status", {}).get("availableReplicas") == replicas


def wait_available(cluster: Cluster, name: str, replicas: int) -> Object:
    """Wait until a Foo's status has so many; returns the Foo."""
    what = f"{name} available with {replicas}"
    return cluster.wait(cluster.foos, lambda foos: is_available(foos, name, replicas), what)[name]


def wait_deployment(cluster: Cluster, name: str, *, replicas: int, not_uid: str = "") -> Object:
    """Wait for a Deployment that wants so many replicas; returns it."""

    def is_there(deployments: Objects) -> bool:
        found = deployments.get(name)
        return found is not None and (found["spec"]["replicas"], found["metadata"]["uid"] != not_uid) == (
            replicas,
            True,
        )

    return cluster.wait(cluster.deployments, is_there, f"a Deployment {name} with {replicas}")[name]


def wait_gone(cluster: Cluster, collection: str) -> None:
    """Wait until a collection is empty."""
    cluster.wait(collection, lambda objects: not objects, f"{collection} empty")


def events_of(events: Objects, name: str, reason: str) -> list[Any]:
    """The events about an object with a reason."""
    return [
        event
        for event in events.values()
        if event["involvedObject"]["name"] == name and event["reason"] == reason
    ]


def wait_event(cluster: Cluster, name: str, reason: str, *, count: int = 1) -> Object:
    """Wait until an event has been recorded so often in all; returns the last of its kind."""

    def is_recorded(events: Objects) -> bool:
        return sum(event.get("count") or 1 for event in events_of(events, name, reason)) >= count

    events = cluster.wait(cluster.events, is_recorded, f"an event {reason} on {name}")
    found: Object = events_of(events, name, reason)[-1]
    return found


def tell_story(cluster: Cluster, name: str = "story") -> None:
    """
    The life of a Foo from end to end.

    Created, its Deployment appears; deleted, the Deployment comes back; scaled, it is scaled; with the Foo
    everything goes.
    """
    foo = cluster.create_foo(name, replicas=1)
    deployment = wait_deployment(cluster, name, replicas=1)
    owner = {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "name": name,
        "uid": foo["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert deployment["metadata"]["ownerReferences"] == [owner]
    labels = {"app": "nginx", "controller": name}
    assert deployment["spec"]["selector"] == {"matchLabels": labels}
    assert deployment["spec"]["template"]["metadata"]["labels"] == labels
    wait_available(cluster, name, 1)
    event = wait_event(cluster, name, "Synced")
    assert (event["type"], event["message"]) == ("Normal", "Foo synced successfully")
    assert event["involvedObject"]["uid"] == foo["metadata"]["uid"]
    assert event["source"]["component"] == "sample-controller"

    cluster.delete(cluster.deployments, name)
    wait_deployment(cluster, name, replicas=1, not_uid=deployment["metadata"]["uid"])
    cluster.change(cluster.foos, name, {"spec": {"replicas": 3}})
    wait_deployment(cluster, name, replicas=3)
    wait_available(cluster, name, 3)
    wait_event(cluster, name, "Synced", count=3)

    cluster.delete(cluster.foos, name)
    wait_gone(cluster, cluster.foos)
    wait_gone(cluster, cluster.deployments)
    wait_gone(cluster, cluster.replica_sets)
