from __future__ import annotations

import pytest

from support.servers.local_server import LocalServer

_RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"impersonate_user": "alice"}, "/apis/apps/v1", 200),
        ({"impersonate_user": "alice"}, "/version", 200),
        ({"impersonate_user": "alice"}, "/metrics", 403),
        ({"impersonate_user": "alice", "impersonate_group": "system:monitoring"}, "/metrics", 200),
        ({"impersonate_user": "system:anonymous"}, "/healthz", 200),
        ({"impersonate_user": "system:anonymous"}, "/apis/apps/v1", 403),
    ],
)
def test_who_has_them_from_the_start(
    server: LocalServer, headers: dict[str, str], path: str, status: int
) -> None:
    """Every known user may read discovery; health and version are for all."""
    assert server.request("GET", path, **headers).status == status


def test_the_roles_for_users_wait_for_their_controller(server: LocalServer) -> None:
    """As in envtest, which has none: edit selects what is labelled, view is a part of edit."""
    role = server.request("GET", f"{_RBAC}/clusterroles/view").body
    assert role["rules"] is None
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    selected = f"{_RBAC}/clusterroles?labelSelector=rbac.authorization.k8s.io/aggregate-to-edit"
    found = server.request("GET", selected).body["items"]
    assert [item["metadata"]["name"] for item in found] == ["system:aggregate-to-edit", "view"]
