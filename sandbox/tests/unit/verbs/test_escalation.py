from __future__ import annotations

from typing import Any

import pytest

from support.servers.local_server import LocalServer

_RBAC = "rbac.authorization.k8s.io"
_ROLES = f"/apis/{_RBAC}/v1/clusterroles"


@pytest.fixture
def max_may(server: LocalServer) -> LocalServer:
    """A server whose user max may write cluster roles, read pods and what is in them, and see /logs."""
    rules = [
        {"apiGroups": [_RBAC], "resources": ["clusterroles"], "verbs": ["create", "update"]},
        {"apiGroups": ["", "apps"], "resources": ["pods", "*/scale"], "verbs": ["*"]},
        {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]},
    ]
    server.request("POST", _ROLES, {"metadata": {"name": "author"}, "rules": rules})
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "author"}
    subject = {"apiGroup": _RBAC, "kind": "User", "name": "max"}
    binding = {"metadata": {"name": "author"}, "roleRef": reference, "subjects": [subject]}
    server.request("POST", f"/apis/{_RBAC}/v1/clusterrolebindings", binding)
    return server


def _rule(group: str, resource: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        (_rule("", "pods", "get", "*"), ""),
        (_rule("apps", "deployments/scale", "patch"), ""),
        (_rule("apps", "*/scale", "patch"), ""),
        ({**_rule("", "pods", "get"), "resourceNames": ["a"]}, ""),
        ({"nonResourceURLs": ["/logs/x"], "verbs": ["get"]}, ""),
        (_rule("", "pods/log", "get"), '{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}'),
        (_rule("*", "pods", "get"), '{APIGroups:["*"], Resources:["pods"], Verbs:["get"]}'),
        ({"nonResourceURLs": ["/logs"], "verbs": ["get"]}, '{NonResourceURLs:["/logs"], Verbs:["get"]}'),
    ],
)
def test_what_a_held_rule_covers(max_may: LocalServer, rule: dict[str, Any], missing: str) -> None:
    """Wildcards stand for what they allow; a star is covered by a star alone."""
    answer = max_may.request(
        "POST", _ROLES, {"metadata": {"name": "r"}, "rules": [rule]}, impersonate_user="max"
    )
    assert answer.status == (403 if missing else 201)
    assert not missing or answer.message.splitlines()[1:] == [missing]


def test_only_who_may_do_everything_aggregates(max_may: LocalServer) -> None:
    """Also to change a role that does."""
    selector = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    body = {"metadata": {"name": "r"}, "aggregationRule": selector}
    text = "must have cluster-admin privileges to use the aggregationRule"
    refused = f'clusterroles.{_RBAC} "r" is forbidden: {text}'
    assert max_may.request("POST", _ROLES, body, impersonate_user="max").message == refused
    assert max_may.request("POST", _ROLES, body).status == 201
    assert (
        max_may.request("PUT", f"{_ROLES}/r", {"metadata": {"name": "r"}}, impersonate_user="max").message
        == refused
    )
