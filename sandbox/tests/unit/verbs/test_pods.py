from __future__ import annotations

from typing import Any

from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.verbs.pods import _log_lines
from support.servers.local_server import LocalServer, Reply

_PODS = "/api/v1/namespaces/default/pods"


def _pod(server: LocalServer, *names: str, **metadata: Any) -> None:
    containers = [{"name": name, "image": "i"} for name in names or ("c",)]
    body = {"metadata": {"name": "p", **metadata}, "spec": {"containers": containers}}
    assert server.request("POST", _PODS, body).status == 201


def _bind(server: LocalServer, node: str) -> Any:
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}
    return server.request("POST", f"{_PODS}/p/binding", binding)


def test_logs_are_plain_text(server: LocalServer) -> None:
    """Logs are lines of text; one can ask for the last ones."""
    _pod(server)
    answer = server.request("GET", f"{_PODS}/p/log")
    assert answer.headers[0] == ("Content-Type", "text/plain")
    lines = str(answer.body).splitlines()
    last = server.request("GET", f"{_PODS}/p/log?tailLines=1")
    assert str(last.body).splitlines() == lines[-1:]
    assert server.request("GET", f"{_PODS}/p/log?tailLines=0").body == ""


def test_logs_of_which_container(server: LocalServer) -> None:
    """Several containers need a name, an unknown one is 400, a negative tail 422."""
    _pod(server, "a", "b")
    path = f"{_PODS}/p/log"
    assert server.request("GET", path).message == (
        "a container name must be specified for pod p, choose one of: [a b]"
    )
    assert server.request("GET", f"{path}?container=z").message == "container z is not valid for pod p"
    assert server.request("GET", f"{path}?container=b").status == 200
    assert server.request("GET", f"{path}?container=a&tailLines=-1").status == 422
    assert server.request("GET", f"{_PODS}/gone/log").status == 404


def test_streams_are_not_offered(server: LocalServer) -> None:
    """Requests that need a container are 501 with a reason."""
    _pod(server)
    for subresource in ("exec", "attach", "portforward", "proxy"):
        refused = server.request("GET", f"{_PODS}/p/{subresource}")
        assert refused.status == 501
        assert "the sandbox runs no containers" in refused.message


def test_binding(server: LocalServer) -> None:
    """A pod is put on a node once, and is then scheduled."""
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


def test_bindings_that_make_no_sense(server: LocalServer) -> None:
    """Another name is 400; a target that is no node is 500 with its fault."""
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


_POD_PATH = "/api/v1/namespaces/default/pods"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_MERGE = "application/merge-patch+json"


def _server(*, ready: bool, phase: str = "Running") -> LocalServer:
    server = LocalServer()
    spec = {"containers": [{"name": "c", "image": "x"}]}
    server.request("POST", _POD_PATH, {"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": spec})
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"status": {"phase": phase, "conditions": conditions}}
    server.request("PATCH", f"{_PODS}/p/status", status, content_type=_MERGE)
    return server


def _budget(server: LocalServer, name: str = "b", *, status: dict[str, Any], **spec: Any) -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}
    body = {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector, **spec}}
    assert server.request("POST", _BUDGETS, body).status == 201
    seen = {"observedGeneration": 1, "currentHealthy": 0, "desiredHealthy": 1, "expectedPods": 1, **status}
    change = {"status": {"disruptionsAllowed": 0, **seen}}
    assert server.request("PATCH", f"{_BUDGETS}/{name}/status", change, content_type=_MERGE).status == 200


def _evict(server: LocalServer, name: str = "p", query: str = "") -> Reply:
    return server.request("POST", f"{_PODS}/p/eviction{query}", {"metadata": {"name": name}})


def test_a_budget_is_spent() -> None:
    """An eviction takes one of the disruptions that a budget allows; a dry run takes nothing."""
    server = _server(ready=True)
    _budget(server, status={"disruptionsAllowed": 1})
    assert _evict(server, query="?dryRun=All").status == 201
    assert server.request("GET", f"{_BUDGETS}/b").body["status"]["disruptionsAllowed"] == 1
    assert _evict(server).status == 201
    assert server.request("GET", f"{_BUDGETS}/b").body["status"]["disruptionsAllowed"] == 0


def test_a_budget_that_allows_none() -> None:
    """429 with how many have to be healthy and how many are."""
    server = _server(ready=True)
    _budget(server, status={"currentHealthy": 1})
    refused = _evict(server)
    assert (refused.status, refused.body["reason"]) == (429, "TooManyRequests")
    (cause,) = refused.body["details"]["causes"]
    assert cause["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"


def test_a_budget_without_a_status() -> None:
    """429 until its status is of its generation."""
    server = _server(ready=True)
    _budget(server, status={"observedGeneration": 0, "disruptionsAllowed": 1})
    details = _evict(server).body["details"]
    assert details["retryAfterSeconds"] == 10
    assert "still being processed" in details["causes"][0]["message"]


def test_pods_that_are_not_ready() -> None:
    """They are spared no more when enough others are healthy, or when the budget allows it."""
    server = _server(ready=False)
    _budget(server, status={})
    assert _evict(server).status == 429
    healthy = _server(ready=False)
    _budget(healthy, status={"currentHealthy": 1})
    assert _evict(healthy).status == 201
    always = _server(ready=False)
    _budget(always, status={}, unhealthyPodEvictionPolicy="AlwaysAllow")
    assert _evict(always).status == 201


def test_pods_that_do_not_run() -> None:
    """No budget guards a pod that is done."""
    server = _server(ready=False, phase="Succeeded")
    _budget(server, status={})
    assert _evict(server).status == 201


def test_evictions_that_make_no_sense() -> None:
    """Another name in the body is 400, two budgets for one pod 500."""
    server = _server(ready=True)
    assert _evict(server, "q").message == "name in URL does not match name in Eviction object"
    _budget(server, status={})
    _budget(server, "c", status={})
    assert _evict(server).status == 500


_NOW = 1_700_000_000.0


def _logged_pod(state: dict[str, Any], **status: Any) -> dict[str, Any]:
    entry = {"name": "main", "image": "nginx:1", "restartCount": 0, "ready": False, "lastState": {}}
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": [{**entry, "state": state, **status}]}}


def test_container_that_never_ran_has_printed_nothing() -> None:
    """Waiting containers, unknown ones and those of a new pod have no log."""
    assert _log_lines(_logged_pod({"waiting": {"reason": "ImagePullBackOff"}}), "main", now=_NOW) == []
    assert _log_lines(_logged_pod({"running": {"startedAt": format_time(_NOW)}}), "other", now=_NOW) == []
    assert _log_lines({"metadata": {"name": "p"}}, "main", now=_NOW) == []


def test_running_container_shows_image_and_age() -> None:
    """The log has a line that nothing is executed, and how long the container runs."""
    pod = _logged_pod({"running": {"startedAt": format_time(_NOW - 30)}}, ready=True)
    log = _log_lines(pod, "main", now=_NOW)
    assert "nothing is executed" in log[0]
    assert "nginx:1" in log[0]
    assert log[-2:] == ["sandbox: ready", "sandbox: running for 30s"]


def test_crashed_container_shows_why() -> None:
    """The reason and exit code of the last run are the last lines, also during back-off."""
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    pod = _logged_pod({"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended, restartCount=2)
    assert _log_lines(pod, "main", now=_NOW)[-2:] == [
        "sandbox: error: OOMKilled",
        "sandbox: exited with code 137",
    ]
