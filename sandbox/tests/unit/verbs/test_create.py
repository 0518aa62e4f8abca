from __future__ import annotations

from support.servers.local_server import LocalServer, widget, with_widgets


def test_runs_are_a_function_of_the_seed() -> None:
    """Two servers with one seed answer the same, uids and generated names included."""
    answers = []
    for _ in range(2):
        server = LocalServer(seed=5)
        path = with_widgets(server)
        obj = widget("", metadata={"generateName": "g-"})
        answers.append(server.request("POST", path, obj).body)
    assert answers[0] == answers[1]
    assert answers[0]["metadata"]["name"].startswith("g-")


def test_refusals_change_nothing(server: LocalServer) -> None:
    """A create that is refused leaves version and state as they were."""
    path = with_widgets(server)
    before = server.request("GET", path).body["metadata"]["resourceVersion"]
    for body, code in (
        (widget("A"), 422),
        (widget("a", size=0), 422),
        (widget("a", metadata={"namespace": "other"}), 400),
        ({**widget("a"), "apiVersion": "example.com/v2"}, 400),
        ({**widget("a"), "kind": "Gizmo"}, 422),
        (widget("a", metadata={"resourceVersion": "5"}), 500),
    ):
        assert server.request("POST", path, body).status == code
    assert server.request("GET", path).body["metadata"]["resourceVersion"] == before
