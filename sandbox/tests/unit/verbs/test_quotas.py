from __future__ import annotations

from typing import Any

from support.servers.local_server import LocalServer, Reply

_CORE = "/api/v1/namespaces/default"


def _quota(server: LocalServer, hard: dict[str, str], **spec: Any) -> None:
    body = {"metadata": {"generateName": "q-"}, "spec": {"hard": hard, **spec}}
    assert server.request("POST", f"{_CORE}/resourcequotas", body).status == 201


def _pod(server: LocalServer, name: str, **requests: str) -> Reply:
    container = {"name": "c", "image": "x", "resources": {"requests": requests}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
    return server.request("POST", f"{_CORE}/pods", body)


def test_a_scope_is_about_some_pods(server: LocalServer) -> None:
    """What the quota of the others would refuse is let through; the contract tests have the rest."""
    _quota(server, {"pods": "0"}, scopes=["BestEffort"])
    assert _pod(server, "a", cpu="1").status == 201
    refused = _pod(server, "b")
    assert refused.status == 403
    assert refused.body["message"].endswith("requested: pods=1, used: pods=0, limited: pods=0")


def test_a_change_that_uses_less_is_let_through(server: LocalServer) -> None:
    """A Service beyond a quota that came later can be closed, and renamed ports are no more ports."""
    ports = [{"name": "a", "port": 80}]
    service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}}
    assert server.request("POST", f"{_CORE}/services", service).status == 201
    _quota(server, {"services.nodeports": "0"})
    merge = "application/merge-patch+json"
    for change in ({"ports": [{"name": "b", "port": 80}]}, {"type": "ClusterIP"}):
        assert (
            server.request("PATCH", f"{_CORE}/services/s", {"spec": change}, content_type=merge).status == 200
        )
    opened = server.request(
        "PATCH", f"{_CORE}/services/s", {"spec": {"type": "NodePort"}}, content_type=merge
    )
    assert opened.status == 403
