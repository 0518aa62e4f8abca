from __future__ import annotations

from typing import Any

from support.servers.local_server import LocalServer, widget, with_widgets


def _widget(server: LocalServer) -> tuple[str, dict[str, Any]]:
    path = with_widgets(server)
    created = server.request("POST", path, widget("a", metadata={"finalizers": ["x/y"]}))
    return f"{path}/a", created.body


def test_the_last_finalizer_removes_what_is_being_deleted(server: LocalServer) -> None:
    """The answer is the object without finalizers under its old version; then it is gone."""
    path, _ = _widget(server)
    going = server.request("DELETE", path).body
    going["metadata"]["finalizers"] = []
    gone = server.request("PUT", path, going)
    assert gone.status == 200
    assert gone.body["metadata"]["resourceVersion"] == going["metadata"]["resourceVersion"]
    assert server.request("GET", path).status == 404
