from __future__ import annotations

from typing import Any

import pytest

from support.servers.local_server import LocalServer

_CORE = "/api/v1/namespaces/default"
_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


@pytest.fixture
def server() -> LocalServer:
    """A server with a service account, and a pod that runs as it."""
    server = LocalServer()
    server.request("POST", f"{_CORE}/serviceaccounts", {"metadata": {"name": "robot"}})
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "x"}]}
    server.request("POST", f"{_CORE}/pods", {"metadata": {"name": "p"}, "spec": spec})
    return server


def _token(server: LocalServer, **spec: Any) -> str:
    answer = server.request("POST", f"{_CORE}/serviceaccounts/robot/token", {"spec": spec})
    token: str = answer.body["status"]["token"]
    return token


def _review(server: LocalServer, token: str, *audiences: str) -> dict[str, Any]:
    spec = {"token": token, "audiences": list(audiences)}
    status: dict[str, Any] = server.request("POST", _REVIEWS, {"spec": spec}).body["status"]
    return status


def test_a_token_tells_of_its_pod(server: LocalServer) -> None:
    """And ends with it."""
    token = _token(server, boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p"})
    extra = _review(server, token)["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    server.request("DELETE", f"{_CORE}/pods/p?gracePeriodSeconds=0")
    text = "[invalid bearer token, service account token has been invalidated]"
    assert _review(server, token) == {"user": {}, "error": text}


def test_a_token_ends_with_its_account(server: LocalServer) -> None:
    """Also where another one has its name."""
    token = _token(server)
    assert _review(server, token)["authenticated"] is True
    server.request("DELETE", f"{_CORE}/serviceaccounts/robot")
    assert _review(server, token)["error"] == '[invalid bearer token, serviceaccounts "robot" not found]'
    server.request("POST", f"{_CORE}/serviceaccounts", {"metadata": {"name": "robot"}})
    assert "does not match claim" in _review(server, token)["error"]


def test_a_token_is_for_its_audiences(server: LocalServer) -> None:
    """The server is one of them unless the token was made for others."""
    token = _token(server, audiences=["a", "b"])
    assert _review(server, token, "c", "b")["audiences"] == ["b"]
    assert _review(server, token)["error"] == (
        '[invalid bearer token, token audiences ["a" "b"] is invalid for the target audiences '
        '["https://kubernetes.default.svc"]]'
    )
