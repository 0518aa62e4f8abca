from __future__ import annotations

from typing import Any

from handloop.sandbox.requests.definition import CLEANUP_FINALIZER, condition_status, with_condition
from support.local_server import LocalServer
from support.widgets import CRDS, definition


def test_conditions_change_their_time_with_their_status() -> None:
    """A condition is added or replaced in place; its time moves when its status does."""
    crd: dict[str, Any] = {"status": {}}
    crd = with_condition(crd, ("A", "False", "R", "m"), "t1")
    crd = with_condition(crd, ("B", "True", "R", "m"), "t1")
    crd = with_condition(crd, ("A", "False", "Other", "n"), "t2")
    first, second = crd["status"]["conditions"]
    assert (first["type"], first["reason"], first["lastTransitionTime"]) == ("A", "Other", "t1")
    crd = with_condition(crd, ("A", "True", "R", "m"), "t3")
    assert crd["status"]["conditions"][0]["lastTransitionTime"] == "t3"
    assert crd["status"]["conditions"][1] == second
    assert condition_status(crd, "A") == "True"
    assert condition_status(crd, "Z") == ""
    assert condition_status({"status": {"conditions": None}}, "A") == ""


def test_deleting_a_definition_marks_it_first() -> None:
    """DELETE puts the cleanup finalizer and a condition on a definition that still has resources."""
    server = LocalServer()
    server.request("POST", CRDS, definition("example.com", "things", "Thing", scope="Cluster"))
    path = "/apis/example.com/v1/things"
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "finalizers": ["x/y"]}}
    server.request("POST", path, obj)
    marked = server.request("DELETE", f"{CRDS}/things.example.com").body
    assert marked["metadata"]["finalizers"] == [CLEANUP_FINALIZER]
    assert "deletionGracePeriodSeconds" not in marked["metadata"]
    assert condition_status(marked, "Terminating") == "True"
    again = server.request("DELETE", f"{CRDS}/things.example.com")
    assert again.status == 200
    refused = server.request("POST", path, {**obj, "metadata": {"name": "u"}})
    assert refused.message.endswith("create not allowed while custom resource definition is terminating")
