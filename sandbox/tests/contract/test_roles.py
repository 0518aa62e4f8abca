"""Who may write roles and bindings, and the roles that a cluster has by itself."""

from __future__ import annotations

import pytest

from support.servers.api_server import Answer, APIServer, Object

_RBAC = "rbac.authorization.k8s.io"
_MAX = {"Impersonate-User": "max"}
_READ_PODS: Object = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
_ROLES_ALONE: Object = {
    "apiGroups": [_RBAC],
    "resources": ["roles", "rolebindings"],
    "verbs": ["create", "get", "list", "patch"],
}
_WHO = (
    'user "max" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
)


class _Author:
    """A user who may write the roles and bindings of a namespace, and has no other right."""

    def __init__(self, server: APIServer, namespace: str) -> None:
        self.server = server
        self.base = f"/apis/{_RBAC}/v1/namespaces/{namespace}"
        self.role("author", _ROLES_ALONE)
        assert self.bind("author").status == 201
        server.eventually(f"{self.base}/roles", lambda answer: answer.status == 200, headers=_MAX)

    def role(self, name: str, *rules: Object, headers: dict[str, str] | None = None) -> Answer:
        body = {"metadata": {"name": name}, "rules": list(rules)}
        return self.server.create(f"{self.base}/roles", body, headers=headers)

    def bind(self, role: str, kind: str = "Role", headers: dict[str, str] | None = None) -> Answer:
        subject = {"apiGroup": _RBAC, "kind": "User", "name": "max"}
        reference = {"apiGroup": _RBAC, "kind": kind, "name": role}
        body = {"metadata": {"name": role}, "roleRef": reference, "subjects": [subject]}
        return self.server.create(f"{self.base}/rolebindings", body, headers=headers)


@pytest.fixture
def author(server: APIServer, namespace: str) -> _Author:
    return _Author(server, namespace)


def test_a_role_gives_no_more_than_its_author_has(author: _Author) -> None:
    """The refusal names what is missing, each resource with its verbs."""
    deployments = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}
    one = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["b", "a"], "verbs": ["get"]}
    refused = author.role("r", deployments, _READ_PODS, one, _ROLES_ALONE, headers=_MAX)
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.message.splitlines() == [
        f'roles.{_RBAC} "r" is forbidden: {_WHO}',
        '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["a"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["b"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["deployments"], Verbs:["*"]}',
    ]
    assert refused.body["details"] == {"name": "r", "group": _RBAC, "kind": "roles"}
    assert author.role("r", {**_ROLES_ALONE, "verbs": ["get", "list"]}, headers=_MAX).status == 201


def test_a_change_of_a_role_is_an_authorship_too(author: _Author) -> None:
    """Every change but one for the garbage collector, even of a label alone."""
    author.role("r", _READ_PODS)
    path = f"{author.base}/roles/r"
    refused = author.server.patch(path, {"metadata": {"labels": {"a": "b"}}}, headers=_MAX)
    assert refused.message.splitlines()[1:] == ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']
    held = {"metadata": {"finalizers": ["example.com/a"]}}
    assert author.server.patch(path, held, headers=_MAX).status == 200
    assert author.server.patch(path, {"metadata": {"finalizers": None}}, headers=_MAX).status == 200


def test_a_binding_gives_no_more_than_its_author_has(author: _Author) -> None:
    """A role that is missing is an answer of its own, and is told of later refusals."""
    refused = author.bind("cluster-admin", "ClusterRole", headers=_MAX)
    assert refused.message.splitlines() == [
        f'rolebindings.{_RBAC} "cluster-admin" is forbidden: {_WHO}',
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
        '{NonResourceURLs:["*"], Verbs:["*"]}',
    ]
    refused = author.bind("nobody", headers=_MAX)
    assert (refused.status, refused.message) == (404, f'rolebindings.{_RBAC} "nobody" not found')
    assert author.bind("nobody").status == 201
    told = f'; resolution errors: [roles.{_RBAC} "nobody" not found]'
    author.server.eventually(
        "/version", lambda _: author.role("r", _READ_PODS, headers=_MAX).message.endswith(told)
    )


def test_escalate_and_bind_allow_it(author: _Author) -> None:
    """Who has these verbs may give what he has not."""
    free = {"apiGroups": [_RBAC], "resources": ["roles", "clusterroles"], "verbs": ["escalate", "bind"]}
    author.role("free", free)
    assert author.bind("free").status == 201
    rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    asked = {"spec": {"namespace": author.base.rpartition("/")[2]}}
    author.server.eventually(
        "/version",
        lambda _: free in author.server.create(rules, asked, headers=_MAX).body["status"]["resourceRules"],
    )
    assert author.role("r", _READ_PODS, headers=_MAX).status == 201
    assert author.bind("cluster-admin", "ClusterRole", headers=_MAX).status == 201
