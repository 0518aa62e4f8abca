from __future__ import annotations

import json

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Event
from handloop.apis.resource import Resource
from handloop.client.access_review import (
    Identity,
    Permission,
    check_access,
    check_path_access,
    who_am_i,
    whose_token,
)
from handloop.client.errors import DecodeError, Unauthorized
from handloop.client.rest_client import RESTClient
from support.doubles.scripted_transport import ScriptedTransport, answer


def test_asks_for_one_permission() -> None:
    """E09: the review names verb, group, resource, subresource, namespace and object."""
    transport = ScriptedTransport([answer(201, b'{"status":{"allowed":true,"reason":"RBAC: because"}}')])
    permission = Permission("update", Deployment.resource, "ns", "status", "web")
    access = check_access(RESTClient(transport), permission)
    assert (access.allowed, access.denied, access.reason) == (True, False, "RBAC: because")
    (sent,) = transport.sent
    assert (sent.method, sent.path) == ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    assert sent.body is not None
    assert json.loads(sent.body) == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {
            "resourceAttributes": {
                "verb": "update",
                "group": "apps",
                "version": "v1",
                "resource": "deployments",
                "subresource": "status",
                "namespace": "ns",
                "name": "web",
            }
        },
    }


def test_a_denial() -> None:
    """What the server does not allow is not allowed, and its words are kept."""
    body = b'{"status":{"allowed":false,"evaluationError":"no role"}}'
    access = check_access(
        RESTClient(ScriptedTransport([answer(201, body)])), Permission("list", Event.resource)
    )
    assert (access.allowed, access.evaluation_error) == (False, "no role")


@pytest.mark.parametrize(
    ("permission", "text"),
    [
        (Permission("watch", Deployment.resource), "watch deployments.apps at cluster scope"),
        (
            Permission("update", Deployment.resource, "demo", "status"),
            "update deployments.apps/status in namespace demo",
        ),
        (Permission("create", Event.resource, "demo"), "create events in namespace demo"),
    ],
)
def test_a_permission_reads_as_a_sentence(permission: Permission, text: str) -> None:
    """E09: `"<user>" may not <permission>`."""
    assert str(permission) == text


def test_a_cluster_scoped_resource_has_no_namespace() -> None:
    """A namespace is not sent for resources without one."""
    transport = ScriptedTransport([answer(201, b'{"status":{}}')])
    nodes = Resource("", "v1", "nodes", "Node", namespaced=False)
    check_access(RESTClient(transport), Permission("get", nodes, "ns"))
    body = transport.sent[0].body
    assert body is not None
    assert "namespace" not in json.loads(body)["spec"]["resourceAttributes"]


def test_who_am_i() -> None:
    """The server answers with our user."""
    body = (
        b'{"status":{"userInfo":{"username":"system:serviceaccount:demo:default","uid":"u","groups":["g"]}}}'
    )
    transport = ScriptedTransport([answer(201, body)])
    assert who_am_i(RESTClient(transport)) == Identity("system:serviceaccount:demo:default", "u", ("g",))
    assert transport.sent[0].path == "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.mark.parametrize("status", [403, 404])
def test_a_server_that_does_not_answer(status: int) -> None:
    """An older server, or a strict one, leaves the identity unknown."""
    assert who_am_i(RESTClient(ScriptedTransport([answer(status)]))) is None


def test_other_failures_are_raised() -> None:
    """401 is no identity, and nonsense is no review."""
    with pytest.raises(Unauthorized):
        who_am_i(RESTClient(ScriptedTransport([answer(401)])))
    with pytest.raises(DecodeError):
        check_access(RESTClient(ScriptedTransport([answer(201, b"[]")])), Permission("get", Event.resource))


def test_whose_a_token_is() -> None:
    """A TokenReview; its answer about the bearer is kept, to be asked about."""
    body = (
        b'{"status":{"authenticated":true,"user":{"username":"prometheus","uid":"7","groups":["g"],'
        b'"extra":{"scopes":["a","b"]}}}}'
    )
    transport = ScriptedTransport([answer(201, body)])
    assert whose_token(RESTClient(transport), "secret") == Identity(
        "prometheus", "7", ("g",), {"scopes": ("a", "b")}
    )
    (sent,) = transport.sent
    assert (sent.method, sent.path) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
    assert json.loads(sent.body or b"") == {
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "spec": {"token": "secret"},
    }


def test_asks_whether_a_user_may_see_a_path() -> None:
    """A SubjectAccessReview for a path that is no resource, with all that is known of the subject."""
    transport = ScriptedTransport([answer(201, b'{"status":{"allowed":true}}')])
    bearer = Identity("prometheus", "7", ("g",), {"scopes": ("a",)})
    assert check_path_access(RESTClient(transport), bearer, "/metrics").allowed
    (sent,) = transport.sent
    assert sent.path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert json.loads(sent.body or b"")["spec"] == {
        "user": "prometheus",
        "uid": "7",
        "groups": ["g"],
        "extra": {"scopes": ["a"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }
