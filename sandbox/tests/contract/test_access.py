from __future__ import annotations

from base64 import b64decode

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer, Object

_RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
def robot(server: APIServer, namespace: str) -> str:
    """The token of a service account without any rights."""
    base = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    server.create(base, {"metadata": {"name": "robot"}})
    request = {"spec": {"expirationSeconds": 600}}
    issued = server.create(f"{base}/robot/token", request)
    assert issued.status == 201
    token: str = issued.body["status"]["token"]
    return token


def _review(server: APIServer, token: str | None = None, **attributes: str) -> Object:
    body = {"spec": {"resourceAttributes": attributes}}
    answer = server.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, token=token)
    assert answer.status == 201
    status: Object = answer.body["status"]
    return status


def test_the_administrator_may_do_everything(server: APIServer) -> None:
    """A SelfSubjectAccessReview of the administrator is always allowed."""
    assert _review(server, verb="delete", group="apps", resource="deployments")["allowed"] is True


def test_a_service_account_may_do_nothing_by_itself(widgets: Widgets, robot: str) -> None:
    """A service account's token authenticates; without a binding everything is 403."""
    refused = widgets.server.get(widgets.path, token=robot)
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.message == (
        f"widgets.{widgets.group} is forbidden: "
        f'User "system:serviceaccount:{widgets.namespace}:robot" '
        f'cannot list resource "widgets" in API group "{widgets.group}" '
        f'in the namespace "{widgets.namespace}"'
    )
    assert widgets.server.get("/apis/apps/v1", token=robot).status == 200


def test_a_role_grants_its_rules(widgets: Widgets, robot: str) -> None:
    """A role binding allows its verbs on its resources in its namespace, and nothing else."""
    widgets.create("a")
    roles = f"/apis/{_RBAC}/v1/namespaces/{widgets.namespace}"
    rules = [
        {"apiGroups": [widgets.group], "resources": ["widgets"], "verbs": ["list"]},
        {"apiGroups": [widgets.group], "resources": ["widgets"], "resourceNames": ["a"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["list", "watch"]},
    ]
    widgets.server.create(f"{roles}/roles", {"metadata": {"name": "r"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": widgets.namespace}
    reference = {"apiGroup": _RBAC, "kind": "Role", "name": "r"}
    binding: Object = {"metadata": {"name": "r"}, "roleRef": reference, "subjects": [subject]}
    assert widgets.server.create(f"{roles}/rolebindings", binding).status == 201
    other = {**binding, "roleRef": {**reference, "name": "other"}}
    (cause,) = widgets.server.update(f"{roles}/rolebindings/r", other).causes
    assert (cause[1], cause[2].rpartition(": ")[2]) == ("roleRef", "cannot change roleRef")
    attributes = {"group": widgets.group, "resource": "widgets", "namespace": widgets.namespace}
    server = widgets.server
    server.eventually(
        "/version", lambda _: _review(server, robot, verb="list", **attributes)["allowed"] is True
    )
    assert server.get(widgets.path, token=robot).names == ["a"]
    assert server.get(f"{widgets.path}/a", token=robot).status == 200
    assert server.get(f"{widgets.path}/b", token=robot).status == 403
    refused = server.patch(f"{widgets.path}/a/status", {"status": {}}, token=robot)
    assert 'cannot patch resource "widgets/status"' in refused.message
    assert server.get(f"/apis/{widgets.group}/v1/widgets", token=robot).status == 403
    secrets = f"/api/v1/namespaces/{widgets.namespace}/secrets"
    for query, status in {"": 403, "&fieldSelector=metadata.name%3Da": 200}.items():
        assert server.get(f"{secrets}?limit=9{query}", token=robot).status == status
        assert server.get(f"{secrets}?watch=1&timeoutSeconds=1{query}", token=robot).status == status
    refused = server.get(f"{secrets}?fieldSelector=metadata.name%3Db", token=robot)
    assert refused.message.startswith('secrets "b" is forbidden: ')


def test_one_can_ask_who_one_is(server: APIServer, namespace: str, robot: str) -> None:
    """A SelfSubjectReview names user and groups."""
    answer = server.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token=robot)
    user = answer.body["status"]["userInfo"]
    assert user["username"] == f"system:serviceaccount:{namespace}:robot"
    assert "system:serviceaccounts" in user["groups"]


def test_an_administrator_can_act_as_a_user(server: APIServer, namespace: str) -> None:
    """With Impersonate-User the request has that user's rights."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    refused = server.get(path, headers={"Impersonate-User": "bob"})
    assert refused.status == 403
    assert refused.message.startswith('configmaps is forbidden: User "bob" cannot list resource "configmaps"')


def test_who_acts_as_a_service_account_is_in_its_groups(server: APIServer, namespace: str) -> None:
    """As one with its token."""
    name = f"system:serviceaccount:{namespace}:robot"
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = server.create(path, {}, headers={"Impersonate-User": name})
    about = answer.body["status"]["userInfo"]
    own = [f"system:serviceaccounts{suffix}" for suffix in ("", f":{namespace}")]
    assert (about["username"], about["groups"]) == (name, [*own, "system:authenticated"])


def test_a_permission_lets_one_act_as_another(server: APIServer, namespace: str, robot: str) -> None:
    """Each part of the other user wants its own: the user, groups, the uid, and each extra value."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    name = f"{namespace}.contract.example.com"
    rules = [
        {"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["dev"], "verbs": ["impersonate"]},
        {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["userextras/scopes"],
            "resourceNames": ["a"],
            "verbs": ["impersonate"],
        },
    ]
    roles, bindings = (f"/apis/{_RBAC}/v1/{plural}" for plural in ("clusterroles", "clusterrolebindings"))
    server.create(roles, {"metadata": {"name": name}, "rules": rules})
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": namespace}
    server.create(bindings, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
    bob = {"Impersonate-User": "bob"}
    try:
        server.eventually(
            "/version", lambda _: server.create(path, {}, token=robot, headers=bob).status == 201
        )
        whole = {**bob, "Impersonate-Group": "dev", "Impersonate-Extra-Scopes": "a"}
        answer = server.create(path, {}, token=robot, headers=whole)
        assert answer.body["status"]["userInfo"] == {
            "username": "bob",
            "groups": ["dev", "system:authenticated"],
            "extra": {"scopes": ["a"]},
        }
        refused = server.create(path, {}, token=robot, headers={**bob, "Impersonate-Uid": "7"})
        assert refused.message == (
            f'uids.authentication.k8s.io "7" is forbidden: User "system:serviceaccount:{namespace}:robot" '
            'cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope'
        )
        refused = server.create(path, {}, token=robot, headers={**bob, "Impersonate-Extra-Scopes": "b"})
        assert refused.message.startswith('userextras.authentication.k8s.io "b" is forbidden: ')
        refused = server.create(path, {}, token=robot, headers={**bob, "Impersonate-Group": "ops"})
        assert refused.message.startswith('groups "ops" is forbidden: ')
    finally:
        server.delete(f"{roles}/{name}")
        server.delete(f"{bindings}/{name}")


def test_a_name_belongs_to_the_other_user(server: APIServer) -> None:
    """Groups alone are nobody."""
    refused = server.get("/version", headers={"Impersonate-Group": "dev"})
    assert refused.status == 400
    assert refused.message == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev"}, '
        "Extra:map[string][]string(nil)} without impersonating a user name"
    )


def test_a_token_has_a_name_of_its_own(server: APIServer, robot: str) -> None:
    """A review of it and its holder say the same."""
    reviews = "/apis/authentication.k8s.io/v1"
    status = server.create(f"{reviews}/tokenreviews", {"spec": {"token": robot}}).body["status"]
    (found,) = status["user"]["extra"]["authentication.kubernetes.io/credential-id"]
    assert found.startswith("JTI=")
    mine = server.create(f"{reviews}/selfsubjectreviews", {}, token=robot).body["status"]["userInfo"]
    assert mine == status["user"]


def test_a_secret_gets_the_token_of_its_account(server: APIServer, namespace: str) -> None:
    """It lasts as long as the Secret, which goes with the account."""
    core = f"/api/v1/namespaces/{namespace}"
    server.create(f"{core}/serviceaccounts", {"metadata": {"name": "robot"}})
    annotations = {"kubernetes.io/service-account.name": "robot"}
    metadata = {"name": "s", "annotations": annotations}
    secret = {"metadata": metadata, "type": "kubernetes.io/service-account-token"}
    assert server.create(f"{core}/secrets", secret).status == 201
    made = server.eventually(f"{core}/secrets/s", lambda answer: "token" in (answer.body.get("data") or {}))
    data = {name: b64decode(value).decode() for name, value in made.body["data"].items()}
    assert (set(data), data["namespace"]) == ({"ca.crt", "namespace", "token"}, namespace)
    (found,) = server.get(f"{core}/serviceaccounts?fieldSelector=metadata.name%3Drobot").body["items"]
    uid = made.body["metadata"]["annotations"]["kubernetes.io/service-account.uid"]
    assert uid == found["metadata"]["uid"]
    review = {"spec": {"token": data["token"]}}
    status = server.create("/apis/authentication.k8s.io/v1/tokenreviews", review).body["status"]
    assert status["authenticated"] is True
    assert status["user"] == {
        "username": f"system:serviceaccount:{namespace}:robot",
        "uid": uid,
        "groups": [
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        ],
    }
    server.delete(f"{core}/serviceaccounts/robot")
    server.eventually(f"{core}/secrets/s", lambda answer: answer.status == 404)
