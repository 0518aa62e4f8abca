from __future__ import annotations

from typing import Any

from handloop_sandbox.verbs.scale import to_parent, to_scale
from support.servers.local_server import LocalServer, widget, with_widgets

_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def _deployment(server: LocalServer) -> None:
    selector = {
        "matchLabels": {"app": "d"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["b", "a"]},
            {"key": "x", "operator": "DoesNotExist"},
        ],
    }
    labels = {"app": "d", "tier": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "d"}, "spec": {"replicas": 2, "selector": selector, "template": template}}
    assert server.request("POST", _DEPLOYMENTS, body).status == 201


def test_scaling_is_a_change_of_the_object(server: LocalServer) -> None:
    """PUT and every kind of patch set the replicas; zero is shown by absence."""
    _deployment(server)
    path = f"{_DEPLOYMENTS}/d/scale"
    put = server.request("PUT", path, {"metadata": {"name": "d"}, "spec": {"replicas": 5}})
    assert put.body["spec"] == {"replicas": 5}
    for content_type, body, replicas in (
        ("application/merge-patch+json", {"spec": {"replicas": 6}}, 6),
        ("application/json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 7}], 7),
        ("application/strategic-merge-patch+json", {"spec": {"replicas": 8}}, 8),
    ):
        answer = server.request("PATCH", path, body, content_type=content_type)
        assert answer.body["spec"] == {"replicas": replicas}
    zero = server.request("PUT", path, {"metadata": {"name": "d"}, "spec": {}})
    assert zero.body["spec"] == {}
    assert server.request("GET", f"{_DEPLOYMENTS}/d").body["spec"]["replicas"] == 0


def test_applying_a_scale(server: LocalServer) -> None:
    """Apply sets the replicas as a manager of the Scale."""
    _deployment(server)
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d"},
        "spec": {"replicas": 9},
    }
    path = f"{_DEPLOYMENTS}/d/scale?fieldManager=hpa&force=true"
    answer = server.request("PATCH", path, body, content_type="application/apply-patch+yaml")
    assert (answer.status, answer.body["spec"]) == (200, {"replicas": 9})


def test_scales_that_are_refused(server: LocalServer) -> None:
    """A stale version, another name or kind, negative and missing numbers are refused."""
    _deployment(server)
    path = f"{_DEPLOYMENTS}/d/scale"
    stale = server.request(
        "PUT", path, {"metadata": {"name": "d", "resourceVersion": "1"}, "spec": {"replicas": 1}}
    )
    assert stale.status == 409
    assert server.request("PUT", path, {"metadata": {"name": "e"}}).status == 400
    other = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    assert server.request("PUT", path, other).status == 400
    negative = server.request("PUT", path, {"metadata": {"name": "d"}, "spec": {"replicas": -1}})
    assert negative.message == (
        'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: '
        "must be greater than or equal to 0"
    )
    wrong = server.request(
        "PATCH", path, {"spec": {"replicas": "x"}}, content_type="application/merge-patch+json"
    )
    assert wrong.status == 422
    assert server.request("GET", f"{_DEPLOYMENTS}/gone/scale").status == 404


def test_a_custom_resource_without_replicas(server: LocalServer) -> None:
    """The Scale of a custom resource wants its replicas to be there."""
    path = with_widgets(server)
    server.request("POST", path, widget("a"))
    scale = server.request("GET", f"{path}/a/scale").body
    assert (scale["spec"], scale["status"]) == ({"replicas": 1}, {"replicas": 0})


_PATH = ".spec.replicas"
_REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def _entry(manager: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    about = {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "time": "t", **more}
    return {**about, "fieldsType": "FieldsV1", "fieldsV1": fields}


def test_entries_that_cannot_be_read() -> None:
    """They own nothing."""
    assert to_scale([{"manager": "broken"}], _PATH) == []


def test_who_owned_nothing_else_goes() -> None:
    """An entry that is left without a field is dropped; an applier who applied them keeps them."""
    only = _entry("one", _REPLICAS)
    assert to_parent([only], [], _PATH, "apps/v1") == []
    applied = _entry("a", _REPLICAS, operation="Apply")
    shown = to_scale([applied], _PATH)
    assert to_parent([applied], shown, _PATH, "apps/v1") == [applied]
