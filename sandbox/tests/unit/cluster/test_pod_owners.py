from __future__ import annotations

from support.servers.living_server import CORE, LivingServer, template

_RCS = f"{CORE}/replicationcontrollers"


def test_refused_pods_are_told_once_and_tried_again() -> None:
    """A quota that is full is an Event of the owner; once there is room, the pods come."""
    server = LivingServer(speed=10.0)
    server.make(f"{CORE}/resourcequotas", "one", {"hard": {"pods": "1"}})
    server.wait(1)
    server.make(_RCS, "rc", {"replicas": 2, "selector": {"app": "x"}, "template": template()})
    server.wait(1)
    assert len(server.items(f"{CORE}/pods")) == 1
    assert server.told("ReplicationController", "FailedCreate")
    (failure,) = server.status(f"{_RCS}/rc")["conditions"]
    assert (failure["type"], failure["reason"]) == ("ReplicaFailure", "FailedCreate")
    server.request("DELETE", f"{CORE}/resourcequotas/one")
    server.wait(10)
    assert server.status(f"{_RCS}/rc")["availableReplicas"] == 2
    assert len(server.told("ReplicationController", "SuccessfulCreate")) == 2


def test_orphans_are_adopted_by_a_plain_selector() -> None:
    """A pod with the labels counts; another is deleted where it is too many."""
    server = LivingServer()
    server.make(f"{CORE}/pods", "mine", template()["spec"], labels={"app": "x"})
    server.make(_RCS, "rc", {"replicas": 1, "selector": {"app": "x"}, "template": template()})
    server.wait(1)
    (pod,) = server.items(f"{CORE}/pods").values()
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicationController"
