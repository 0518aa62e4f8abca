from __future__ import annotations

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def test_status_takes_only_the_status(widgets: Widgets) -> None:
    """PUT and PATCH of /status leave spec, labels and finalizers of a custom resource alone."""
    created = widgets.create("a").body
    sent = {**created, "status": {"phase": "Ready"}, "spec": {**created["spec"], "size": 50}}
    sent["metadata"] = {**created["metadata"], "labels": {"x": "y"}, "finalizers": ["a.example.com/f"]}
    put = widgets.server.update(f"{widgets.path}/a/status", sent)
    assert put.status == 200
    assert put.body["status"] == {"phase": "Ready"}
    assert put.body["spec"] == created["spec"]
    assert "labels" not in put.body["metadata"]
    assert "finalizers" not in put.body["metadata"]


def test_the_object_endpoint_ignores_the_status(widgets: Widgets) -> None:
    """A status sent with create, PUT or PATCH of the object itself is dropped."""
    created = widgets.server.create(widgets.path, {**widgets.new("a"), "status": {"phase": "X"}})
    assert "status" not in created.body
    widgets.server.patch(f"{widgets.path}/a/status", {"status": {"phase": "Ready"}})
    patched = widgets.server.patch(f"{widgets.path}/a", {"status": {"phase": "X"}, "spec": {"size": 4}})
    assert patched.body["status"] == {"phase": "Ready"}
    assert patched.body["spec"]["size"] == 4


def test_status_is_guarded_by_the_version_too(widgets: Widgets) -> None:
    """A PUT of /status from an older version is 409."""
    old = widgets.create("a").body
    widgets.server.patch(f"{widgets.path}/a/status", {"status": {"phase": "1"}})
    assert widgets.server.update(f"{widgets.path}/a/status", {**old, "status": {"phase": "2"}}).status == 409


def test_status_is_validated(widgets: Widgets) -> None:
    """A status that breaks the schema is 422 and names the field."""
    widgets.create("a")
    bad = widgets.server.patch(f"{widgets.path}/a/status", {"status": {"phase": 5}})
    assert bad.status == 422
    assert ("FieldValueTypeInvalid", "status.phase") in [cause[:2] for cause in bad.causes]


def test_scale_shows_and_sets_replicas(widgets: Widgets) -> None:
    """/scale is an autoscaling/v1 Scale of the paths the definition names; setting it is a spec change."""
    created = widgets.create("a").body
    widgets.server.patch(f"{widgets.path}/a/status", {"status": {"replicas": 2, "selector": "app=a"}})
    scale = widgets.server.get(f"{widgets.path}/a/scale").body
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 1}
    assert scale["status"] == {"replicas": 2, "selector": "app=a"}
    assert scale["metadata"]["uid"] == created["metadata"]["uid"]
    scale["spec"]["replicas"] = 5
    assert widgets.server.update(f"{widgets.path}/a/scale", scale).body["spec"] == {"replicas": 5}
    after = widgets.server.get(f"{widgets.path}/a").body
    assert (after["spec"]["replicas"], after["metadata"]["generation"]) == (5, 2)
    assert widgets.server.update(f"{widgets.path}/a/scale", scale).status == 409


def test_scale_is_patched_and_checked(widgets: Widgets) -> None:
    """A merge patch of /scale works; negative replicas are 422."""
    widgets.create("a")
    path = f"{widgets.path}/a/scale"
    assert widgets.server.patch(path, {"spec": {"replicas": 7}}).body["spec"] == {"replicas": 7}
    negative = widgets.server.patch(path, {"spec": {"replicas": -1}})
    assert negative.status == 422
    assert (
        "FieldValueInvalid",
        ".spec.replicas",
        "Invalid value: -1: should be a non-negative integer",
    ) in negative.causes


def test_subresources_that_are_not_served(server: APIServer, widgets: Widgets) -> None:
    """An unknown subresource of a custom resource is 404 about the object; POST to /status is 405."""
    widgets.create("a")
    unknown = server.get(f"{widgets.path}/a/other")
    assert (unknown.status, unknown.message) == (404, f'widgets.{widgets.group} "a" not found')
    posted = server.create(f"{widgets.path}/a/status", {})
    assert posted.status == 405
    assert posted.message == f'create is not supported on resources of kind "widgets.{widgets.group}"'


def test_scale_of_a_deployment(server: APIServer, namespace: str) -> None:
    """A Deployment scales without a version in the Scale; its selector is shown as text."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "example.com/i:1"}]},
    }
    spec = {"replicas": 0, "paused": True, "selector": {"matchLabels": labels}, "template": template}
    assert server.create(path, {"metadata": {"name": "web"}, "spec": spec}).status == 201
    scale = {"metadata": {"name": "web"}, "spec": {"replicas": 0}}
    answer = server.update(f"{path}/web/scale", scale)
    assert answer.status == 200
    assert answer.body["status"]["selector"] == "app=web"
    assert server.get(f"{path}/gone/scale").message == 'deployments.apps "gone" not found'


def test_scale_as_a_row(widgets: Widgets) -> None:
    """The Scale of any kind has the columns of all Scales."""
    widgets.create("a")
    plain, whole = (
        widgets.server.get(f"{widgets.path}/a/scale{query}", accept=_TABLE).body
        for query in ("", "?includeObject=Object")
    )
    assert [each["name"] for each in plain["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert plain["rows"][0]["cells"][:3] == ["a", 1, 0]
    assert whole["rows"][0]["object"]["kind"] == "Scale"


@pytest.mark.parametrize("what", ["exec?command=ls", "attach", "portforward", "proxy/", "log"])
def test_what_streams_from_a_pod_needs_one(server: APIServer, namespace: str, what: str) -> None:
    """A pod that is not there is told before anything else."""
    missing = server.get(f"/api/v1/namespaces/{namespace}/pods/nobody/{what}")
    assert (missing.status, missing.message) == (404, 'pods "nobody" not found')


@pytest.mark.parametrize("what", ["exec?command=ls", "attach", "log"])
def test_what_streams_from_a_container_needs_its_name(server: APIServer, namespace: str, what: str) -> None:
    """Where a pod has several."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    server.eventually(account, lambda answer: answer.status == 200)
    containers = [{"name": name, "image": "registry.example.com/c"} for name in ("a", "b")]
    assert server.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": containers}}).status == 201
    refused = server.get(f"{pods}/p/{what}")
    text = "a container name must be specified for pod p, choose one of: [a b]"
    assert (refused.status, refused.message) == (400, text)
