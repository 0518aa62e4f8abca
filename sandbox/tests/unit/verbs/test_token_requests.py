from __future__ import annotations

from typing import Any

from support.servers.local_server import LocalServer, Reply

_ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
_PODS = "/api/v1/namespaces/default/pods"


def _server() -> LocalServer:
    server = LocalServer()
    server.request("POST", _ACCOUNTS, {"metadata": {"name": "robot"}})
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "x"}]}
    server.request("POST", _PODS, {"metadata": {"name": "p"}, "spec": spec})
    return server


def _ask(server: LocalServer, spec: dict[str, Any], account: str = "robot", **metadata: str) -> Reply:
    return server.request("POST", f"{_ACCOUNTS}/{account}/token", {"metadata": metadata, "spec": spec})


def test_a_token_has_an_hour() -> None:
    """Without a duration the default is used, and shown; so is a given one."""
    server = _server()
    answer = _ask(server, {})
    assert answer.status == 201
    assert answer.body["spec"]["expirationSeconds"] == 3600
    assert answer.body["status"]["expirationTimestamp"] == "2023-11-14T23:13:20Z"
    (entry,) = answer.body["metadata"]["managedFields"]
    assert (entry["subresource"], entry["fieldsV1"]) == ("token", {"f:spec": {"f:expirationSeconds": {}}})
    assert _ask(server, {"audiences": ["me"]}).body["spec"]["audiences"] == ["me"]


def test_a_token_can_be_bound() -> None:
    """To a pod that is there and runs as the account."""
    server = _server()
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    assert _ask(server, {"boundObjectRef": reference}).body["spec"]["boundObjectRef"] == reference
    other = _ask(server, {"boundObjectRef": {**reference, "uid": "x"}})
    assert (other.status, other.body["reason"]) == (409, "Conflict")
    server.request("POST", _ACCOUNTS, {"metadata": {"name": "other"}})
    assert _ask(server, {"boundObjectRef": reference}, "other").status == 400
