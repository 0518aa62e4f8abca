from __future__ import annotations

from typing import Any

from support.local_server import LocalServer, Reply

_PODS = "/api/v1/namespaces/default/pods"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_MERGE = "application/merge-patch+json"


def _server(*, ready: bool, phase: str = "Running") -> LocalServer:
    server = LocalServer()
    spec = {"containers": [{"name": "c", "image": "x"}]}
    server.request("POST", _PODS, {"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": spec})
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


def test_a_budget_nobody_has_looked_at() -> None:
    """429 until its status is of its generation."""
    server = _server(ready=True)
    _budget(server, status={"observedGeneration": 0, "disruptionsAllowed": 1})
    details = _evict(server).body["details"]
    assert details["retryAfterSeconds"] == 10
    assert "still being processed" in details["causes"][0]["message"]


def test_pods_that_are_not_ready() -> None:
    """They are spared no more when enough others are healthy, or when the budget says so."""
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
