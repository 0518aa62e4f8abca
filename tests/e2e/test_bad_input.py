from __future__ import annotations

from functools import partial

import pytest

from support.rigs.foo_story import wait_available, wait_event
from support.rigs.program import Run
from support.servers.cluster import Cluster, Object, Objects, foo, usual_definition

HOPELESS: dict[str, Object] = {
    "negative": {"deploymentName": "negative", "replicas": -1},
    "huge": {"deploymentName": "huge", "replicas": 2**31},
    "nameless": {"deploymentName": "", "replicas": 1},
    "without": {},
    "words": {"deploymentName": "words", "replicas": "three"},
    "misnamed": {"deploymentName": "Not_A_Name", "replicas": 1},
}


@pytest.fixture
def definition() -> Object:
    """One that takes any field with any value; the scale subresource would look at replicas."""
    definition = usual_definition()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = definition["spec"]["versions"][0]
    version |= {"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    return definition


def test_an_impossible_fault_is_reported_and_does_no_harm(cluster: Cluster, run: Run) -> None:
    """Each hopeless Foo gets one Warning and is not retried; the others go on, and it does once mended."""
    for name, spec in HOPELESS.items():
        cluster.create(cluster.foos, foo(name, spec))
    with run() as program:
        program.wait_ready()
        cluster.create_foo("good")
        wait_available(cluster, "good", 1)
        for name in HOPELESS:
            event = wait_event(cluster, name, "InvalidObject")
            assert event["type"] == "Warning"
            assert event["message"]
        cluster.change(cluster.foos, "good", {"spec": {"replicas": 2}})
        wait_available(cluster, "good", 2)
        assert list(cluster.list(cluster.deployments)) == ["good"]
        counts = [
            e.get("count") or 1 for e in cluster.list(cluster.events).values() if e["type"] == "Warning"
        ]
        assert counts == [1] * len(HOPELESS)
        for name in HOPELESS:
            cluster.change(cluster.foos, name, {"spec": {"deploymentName": name, "replicas": 1}})
        for name in HOPELESS:
            wait_available(cluster, name, 1)
        assert program.stop() == 0


def tells_of(events: Objects, version: str) -> bool:
    """Whether one of the events is about this very version of a Foo."""
    told = {(event["reason"], event["involvedObject"].get("resourceVersion")) for event in events.values()}
    return ("InvalidObject", version) in told


def test_what_breaks_later_keeps_what_it_had(cluster: Cluster, run: Run) -> None:
    """A working Foo that is changed into one that cannot work gets a Warning, and keeps its Deployment."""
    with run() as program:
        program.wait_ready()
        foo_before = cluster.create_foo("spoilt", replicas=2)
        wait_available(cluster, "spoilt", 2)
        for replicas in (-1, 2**31):
            cluster.change(cluster.foos, "spoilt", {"spec": {"replicas": replicas}})
            version = cluster.get(cluster.foos, "spoilt")["metadata"]["resourceVersion"]
            cluster.wait(cluster.events, partial(tells_of, version=version), f"an event about {replicas}")
        assert cluster.get(cluster.deployments, "spoilt")["spec"]["replicas"] == 2
        assert cluster.get(cluster.foos, "spoilt")["metadata"]["uid"] == foo_before["metadata"]["uid"]
        cluster.change(cluster.foos, "spoilt", {"spec": {"replicas": 3}})
        wait_available(cluster, "spoilt", 3)
