from __future__ import annotations

import pytest

from handloop_sandbox.faults.request_attributes import RequestAttributes, attributes_of
from handloop_sandbox.requests.request import Request, User
from handloop_sandbox.wire.query import Query

_USER = User("alice", ("system:authenticated",))


def _asked(method: str, target: str, **headers: str) -> RequestAttributes:
    path, _, query = target.partition("?")
    return attributes_of(Request(method, path, Query.parse(query), headers), _USER)


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("GET /apis/apps/v1/namespaces/n/deployments/web", ("get", "deployments", "n", "web")),
        ("GET /apis/apps/v1/deployments", ("list", "deployments", "", "")),
        ("GET /apis/apps/v1/deployments?watch=true", ("watch", "deployments", "", "")),
        ("GET /apis/apps/v1/deployments?watch=yes", ("watch", "deployments", "", "")),
        ("GET /apis/apps/v1/deployments?watch=0", ("list", "deployments", "", "")),
        ("GET /api/v1/watch/namespaces/n/pods", ("watch", "pods", "n", "")),
        (
            "PUT /apis/apps/v1/namespaces/n/deployments/web/status",
            ("update", "deployments/status", "n", "web"),
        ),
        ("DELETE /api/v1/namespaces/n/pods", ("deletecollection", "pods", "n", "")),
        ("GET /version", ("get", "", "", "")),
        ("GET /apis/apps/v1", ("get", "", "", "")),
    ],
)
def test_a_request_in_the_words_of_rbac(request_line: str, expected: tuple[str, ...]) -> None:
    """Verb, resource, namespace and name are those that a role would name; documents have no resource."""
    method, _, target = request_line.partition(" ")
    found = _asked(method, target)
    wanted = found.attributes
    assert (found.verb, wanted.resource, wanted.namespace, wanted.name) == expected


def test_what_else_is_known_of_a_request() -> None:
    """User, user agent, path, and where it continues from."""
    found = _asked("GET", "/api/v1/pods?resourceVersion=7&continue=abc", **{"user-agent": "me/1"})
    assert (found.user.name, found.user_agent, found.path) == ("alice", "me/1", "/api/v1/pods")
    assert (found.resource_version, found.continued) == ("7", True)
    assert found.is_read
    assert not _asked("POST", "/api/v1/namespaces/n/pods").is_read
    assert not _asked("GET", "/version").is_read


def test_resources_are_named_as_in_roles() -> None:
    """With or without the group; a subresource is something else than its parent."""
    parent = _asked("GET", "/apis/apps/v1/namespaces/n/deployments/web")
    status = _asked("GET", "/apis/apps/v1/namespaces/n/deployments/web/status")
    for name in ("deployments", "deployments.apps", "*"):
        assert parent.is_about(name)
    for name in ("deployments/status", "deployments.apps/status", "deployments/*", "*"):
        assert status.is_about(name)
    for name in ("pods", "deployments.example.com", "deployments/*", "deployments/status"):
        assert not parent.is_about(name)
    assert not status.is_about("deployments")
    assert _asked("GET", "/version").is_about("*")
    assert not _asked("GET", "/version").is_about("")
