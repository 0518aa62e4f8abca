from __future__ import annotations

from handloop.testing.request_trace import RequestTrace, no_streaming_lists
from handloop_sandbox.server import Sandbox


def test_requests_for_resources_are_noted() -> None:
    """By user agent, in RBAC's words, refused or not; discovery and reviews are not among them."""
    server = Sandbox(controllers=(), token="t", seed=1)
    mine, everybody = (RequestTrace(server.engine, "t", user_agent=name) for name in ("me/", ""))
    mine.refuse = no_streaming_lists
    seen: list[str] = []
    mine.before = lambda asked: seen.append(f"before {asked.verb}")
    mine.after = lambda asked: seen.append(f"after {asked.verb}")
    transport = server.transport()
    path = "/api/v1/namespaces/default/configmaps"
    body = b'{"metadata": {"name": "a"}}'
    agent = {"User-Agent": "me/1"}
    assert transport.request("POST", path, headers=agent, body=body).status == 201
    assert transport.request("GET", f"{path}?watch=1&sendInitialEvents=true", headers=agent).status == 422
    transport.request("GET", "/api/v1", headers=agent)
    transport.request("GET", f"{path}/a")
    assert [str(asked) for asked in mine.asked()] == ["create configmaps default", "watch configmaps default"]
    assert [str(asked) for asked in everybody.asked()][-1] == "get configmaps default/a"
    assert mine.writes() == 1
    for created in (True, False):
        apply = {**agent, "Content-Type": "application/apply-patch+yaml"}
        body = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}'
        transport.request("PATCH", f"{path}/b?fieldManager=me", headers=apply, body=body)
        assert mine.asked()[-1].creates == created
    assert seen[:4] == ["before create", "after create", "before watch", "after watch"]
