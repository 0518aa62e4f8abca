"""Who may write roles and bindings, and the roles that a cluster has by itself."""

from __future__ import annotations

import hashlib
import json
import uuid

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


_DIGESTS: dict[str, str] = {
    "admin": "963e2c318f38",
    "cluster-admin": "77139c44a127",
    "edit": "4a7f2941d279",
    "system:auth-delegator": "b798eb601f29",
    "system:basic-user": "fa3644e51017",
    "system:discovery": "f204e3324e04",
    "system:kubelet-api-admin": "9ed9f26de902",
    "system:monitoring": "3c9b4220063c",
    "system:persistent-volume-provisioner": "9a65bf0c5e97",
    "system:public-info-viewer": "12e3fb02cc99",
    "system:service-account-issuer-discovery": "756e19b59d55",
    "view": "d248afb117b1",
}


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


@pytest.mark.parametrize(
    ("role", "allowed", "refused"),
    [
        ("view", "list pods", "get secrets"),
        ("view", "get configmaps", "create pods"),
        ("edit", "create pods", "create roles"),
        ("admin", "create roles", "create resourcequotas"),
    ],
)
def test_the_roles_for_users(
    server: APIServer, namespace: str, role: str, allowed: str, refused: str
) -> None:
    """view, edit and admin give what their names say, in the namespace that they are bound in."""

    def may(what: str) -> bool:
        verb, _, resource = what.partition(" ")
        group = _RBAC if resource == "roles" else ""
        asked = {"namespace": namespace, "verb": verb, "group": group, "resource": resource}
        review = {"spec": {"user": "eve", "resourceAttributes": asked}}
        answer = server.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return answer.body["status"]["allowed"] is True

    subject = {"apiGroup": _RBAC, "kind": "User", "name": "eve"}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    body = {"metadata": {"name": role}, "roleRef": reference, "subjects": [subject]}
    server.create(f"/apis/{_RBAC}/v1/namespaces/{namespace}/rolebindings", body)
    server.eventually("/version", lambda _: may(allowed))
    assert not may(refused)


@pytest.mark.parametrize("role", _DIGESTS)
def test_a_default_role_in_full(server: APIServer, role: str) -> None:
    """Its labels, its annotation and a digest of its rules, as they were seen in a cluster of 1.36."""
    found = server.eventually(
        f"/apis/{_RBAC}/v1/clusterroles/{role}", lambda answer: bool(answer.body.get("rules"))
    ).body
    parts = ("aggregationRule", "rules")
    about = [found["metadata"]["labels"], found["metadata"]["annotations"], *map(found.get, parts)]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    assert digest[:12] == _DIGESTS[role]


def test_a_role_that_aggregates_follows_what_it_selects(server: APIServer) -> None:
    """Its own rules stay until something is selected; without a selected role they are gone."""
    roles, label = f"/apis/{_RBAC}/v1/clusterroles", f"{uuid.uuid4().hex[:8]}.contract.example.com"
    names = [f"{letter}.{label}" for letter in "zab"]
    selector = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
    own = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    server.create(roles, {"metadata": {"name": names[0]}, "aggregationRule": selector, "rules": [own]})
    try:
        for name, rules in ((names[1], [_READ_PODS]), (names[2], [_ROLES_ALONE, _READ_PODS])):
            metadata = {"name": name, "labels": {label: "true"}}
            server.create(roles, {"metadata": metadata, "rules": rules})
        path = f"{roles}/{names[0]}"
        server.eventually(path, lambda answer: answer.body["rules"] == [_READ_PODS, _ROLES_ALONE])
        server.delete(f"{roles}/{names[1]}")
        server.eventually(path, lambda answer: answer.body["rules"] == [_ROLES_ALONE, _READ_PODS])
        server.delete(f"{roles}/{names[2]}")
        server.eventually(path, lambda answer: answer.body["rules"] is None)
    finally:
        for name in names:
            server.delete(f"{roles}/{name}")


_PATHS = {"nonResourceURLs": ["/x"], "verbs": ["get"]}
_LABEL = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]}


@pytest.mark.parametrize(
    ("plural", "body", "expected"),
    [
        ("roles", {"rules": [{"apiGroups": [""], "resources": ["pods"]}]}, ["rules[0].verbs"]),
        ("roles", {"rules": [{"verbs": ["get"]}]}, ["rules[0].apiGroups", "rules[0].resources"]),
        ("roles", {"rules": [_PATHS]}, ["rules[0].nonResourceURLs"]),
        ("clusterroles", {"rules": [_PATHS, {**_PATHS, "apiGroups": [""]}]}, ["rules[1].nonResourceURLs"]),
        ("clusterroles", {"aggregationRule": {}}, ["aggregationRule.clusterRoleSelectors"]),
        (
            "clusterroles",
            {"aggregationRule": _LABEL},
            [
                "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator",
                "aggregationRule.clusterRoleSelectors[0]",
            ],
        ),
        ("rolebindings", {"roleRef": {"kind": "Rule"}}, ["roleRef.kind", "roleRef.name"]),
        ("clusterrolebindings", {"roleRef": {"kind": "Role", "name": "a"}}, ["roleRef.kind"]),
        (
            "clusterrolebindings",
            {
                "roleRef": {"kind": "ClusterRole", "name": "a/b"},
                "subjects": [
                    {"kind": "ServiceAccount", "name": "A_", "apiGroup": "x"},
                    {"kind": "User", "name": ""},
                    {"kind": "Group", "name": "a", "apiGroup": "x"},
                    {"kind": "Robot", "name": "a"},
                ],
            },
            [
                "roleRef.name",
                "subjects[0].name",
                "subjects[0].apiGroup",
                "subjects[0].namespace",
                "subjects[1].name",
                "subjects[2].apiGroup",
                "subjects[3].kind",
            ],
        ),
    ],
)
def test_wrong_roles_and_bindings(
    server: APIServer, namespace: str, plural: str, body: Object, expected: list[str]
) -> None:
    """Each field that is wrong is named."""
    scope = "" if plural.startswith("cluster") else f"/namespaces/{namespace}"
    path = f"/apis/{_RBAC}/v1{scope}/{plural}?dryRun=All"
    refused = server.create(path, {"metadata": {"name": "wrong.contract.example.com"}, **body})
    assert refused.status == 422
    assert [field for _, field, _ in refused.causes] == expected
