from __future__ import annotations

from typing import Any

from support.local_server import LocalServer

_PODS = "/api/v1/namespaces/default/pods"


def _pod(server: LocalServer, *names: str, **metadata: Any) -> None:
    containers = [{"name": name, "image": "i"} for name in names or ("c",)]
    body = {"metadata": {"name": "p", **metadata}, "spec": {"containers": containers}}
    assert server.request("POST", _PODS, body).status == 201


def _bind(server: LocalServer, node: str) -> Any:
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}
    return server.request("POST", f"{_PODS}/p/binding", binding)


def test_logs_are_plain_text() -> None:
    """Logs are lines of text; one can ask for the last ones."""
    server = LocalServer()
    _pod(server)
    answer = server.request("GET", f"{_PODS}/p/log")
    assert answer.headers[0] == ("Content-Type", "text/plain")
    lines = str(answer.body).splitlines()
    last = server.request("GET", f"{_PODS}/p/log?tailLines=1")
    assert str(last.body).splitlines() == lines[-1:]
    assert server.request("GET", f"{_PODS}/p/log?tailLines=0").body == ""


def test_logs_of_which_container() -> None:
    """Several containers need a name, an unknown one is 400, a negative tail 422."""
    server = LocalServer()
    _pod(server, "a", "b")
    path = f"{_PODS}/p/log"
    assert server.request("GET", path).message == (
        "a container name must be specified for pod p, choose one of: [a b]"
    )
    assert server.request("GET", f"{path}?container=z").message == "container z is not valid for pod p"
    assert server.request("GET", f"{path}?container=b").status == 200
    assert server.request("GET", f"{path}?container=a&tailLines=-1").status == 422
    assert server.request("GET", f"{_PODS}/gone/log").status == 404


def test_streams_are_not_offered() -> None:
    """What needs a container is 501 with a reason."""
    server = LocalServer()
    _pod(server)
    for subresource in ("exec", "attach", "portforward", "proxy"):
        refused = server.request("GET", f"{_PODS}/p/{subresource}")
        assert refused.status == 501
        assert "the sandbox runs no containers" in refused.message


def test_binding() -> None:
    """A pod is put on a node once, and is then scheduled."""
    server = LocalServer()
    _pod(server)
    assert _bind(server, "n1").status == 201
    bound = server.request("GET", f"{_PODS}/p").body
    assert bound["spec"]["nodeName"] == "n1"
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    again = _bind(server, "n2")
    assert again.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )


def test_bindings_that_make_no_sense() -> None:
    """Another name is 400; a target that is no node is 500 with what is wrong with it."""
    server = LocalServer()
    _pod(server)
    path = f"{_PODS}/p/binding"
    other = server.request("POST", path, {"metadata": {"name": "q"}, "target": {"name": "n"}})
    assert other.message == "name in URL does not match name in Binding object"
    odd = server.request("POST", path, {"metadata": {"name": "p"}, "target": {"kind": "Pod"}})
    assert odd.status == 500
    assert odd.message == (
        '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", '
        "target.name: Required value]"
    )
