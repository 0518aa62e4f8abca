from __future__ import annotations

from handloop_sandbox.requests.request import User
from support.servers.local_server import LocalServer

_LOAD = "/sandbox/load"
_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_names_cannot_lead_elsewhere(server: LocalServer) -> None:
    """What a text says is escaped where the path is put together."""
    for name in ("../../secrets/x", "a/b", "a?x=y", "%2e%2e"):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        assert server.request("POST", _LOAD, body).status in (400, 404, 422), name
    for version in ("v1/../..", "../v1", "v1?x=y", "nothing/v1", ""):
        assert server.request("POST", _LOAD, {**_MAP, "apiVersion": version}).status in (400, 404), version


def test_it_is_done_in_the_name_of_who_asks() -> None:
    """With the token of the request, in the header or in the path; it meets faults, as every client does."""
    server = LocalServer(users={"a": User("alice", ("system:masters", "system:authenticated"))})
    for path, headers in ((f"/a{_LOAD}", {}), (_LOAD, {"authorization": "Bearer a"})):
        assert server.request("POST", path, _MAP, **headers).status == 200
    fault = {"fault": "error", "code": 503, "resources": ["configmaps"], "user": "alice"}
    assert server.request("POST", "/a/sandbox/faults", fault).status == 201
    assert server.request("POST", f"/a{_LOAD}", _MAP).status == 503
