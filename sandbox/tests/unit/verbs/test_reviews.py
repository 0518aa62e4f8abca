from __future__ import annotations

from handloop_sandbox.requests.request import User
from support.servers.local_server import LocalServer

_AUTHORIZATION = "/apis/authorization.k8s.io/v1"
_USERS = {
    "root": User("root", ("system:masters", "system:authenticated")),
    "alice": User("alice", ("system:authenticated",), "a-1"),
}
_ROOT, _ALICE = {"authorization": "Bearer root"}, {"authorization": "Bearer alice"}


def test_asking_about_oneself() -> None:
    """A SelfSubjectAccessReview answers for the asking user, for resources and for paths."""
    server = LocalServer(users=_USERS)
    path = f"{_AUTHORIZATION}/selfsubjectaccessreviews"
    resource = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
    assert server.request("POST", path, resource, **_ROOT).body["status"] == {"allowed": True}
    answer = server.request("POST", path, resource, **_ALICE)
    assert (answer.status, answer.body["status"]) == (201, {"allowed": False})
    assert answer.body["spec"] == resource["spec"]
    url = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/apis"}}}
    assert server.request("POST", path, url, **_ALICE).body["status"] == {"allowed": True}


def test_asking_about_others() -> None:
    """A SubjectAccessReview answers for the subject it names, and wants one."""
    server = LocalServer(users=_USERS)
    attributes = {"verb": "list", "resource": "pods", "namespace": "default"}
    body = {"spec": {"user": "bob", "groups": ["system:masters"], "resourceAttributes": attributes}}
    path = f"{_AUTHORIZATION}/subjectaccessreviews"
    assert server.request("POST", path, body, **_ROOT).body["status"]["allowed"] is True
    local = f"{_AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
    reviewed = server.request(
        "POST", local, {"spec": {"user": "bob", "resourceAttributes": attributes}}, **_ROOT
    )
    assert reviewed.body["status"]["allowed"] is False
    assert reviewed.body["metadata"]["namespace"] == "default"
    nobody = server.request("POST", path, {"spec": {"resourceAttributes": attributes}}, **_ROOT)
    assert nobody.message.endswith("at least one of user or group must be specified")


def test_who_am_i_and_what_may_i() -> None:
    """A SelfSubjectReview names the user, a rules review lists what holds."""
    server = LocalServer(users=_USERS)
    me = server.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, **_ALICE)
    assert me.body["status"]["userInfo"] == {
        "username": "alice",
        "uid": "a-1",
        "groups": ["system:authenticated"],
    }
    path = f"{_AUTHORIZATION}/selfsubjectrulesreviews"
    mine = server.request("POST", path, {"spec": {"namespace": "default"}}, **_ALICE).body["status"]
    assert {name for rule in mine["resourceRules"] for name in rule["resources"]} == {
        "selfsubjectaccessreviews",
        "selfsubjectreviews",
        "selfsubjectrulesreviews",
    }
    root = server.request("POST", path, {"spec": {"namespace": "default"}}, **_ROOT).body["status"]
    assert root["resourceRules"][0]["verbs"] == ["*"]


def test_tokens_of_service_accounts() -> None:
    """A requested token authenticates until it expires, and a TokenReview knows it."""
    server = LocalServer(users=_USERS)
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert server.request("POST", f"{accounts}/robot/token", {}, **_ROOT).status == 404
    server.request("POST", accounts, {"metadata": {"name": "robot"}}, **_ROOT)
    issued = server.request("POST", f"{accounts}/robot/token", {"spec": {"expirationSeconds": 600}}, **_ROOT)
    assert issued.body["status"]["expirationTimestamp"] == "2023-11-14T22:23:20Z"
    token = issued.body["status"]["token"]
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    known = server.request("POST", reviews, {"spec": {"token": token}}, **_ROOT).body["status"]
    assert known["user"]["username"] == "system:serviceaccount:default:robot"
    unknown = server.request("POST", reviews, {"spec": {"token": "x"}}, **_ROOT).body["status"]
    assert unknown == {"user": {}, "error": "invalid bearer token"}
    bearer = {"authorization": f"Bearer {token}"}
    assert server.request("GET", "/api/v1/namespaces", **bearer).status == 403
    server.clock.now += 601
    assert server.request("GET", "/api/v1/namespaces", **bearer).status == 401
