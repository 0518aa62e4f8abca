from __future__ import annotations

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer


@pytest.mark.parametrize(
    "path",
    ["/no/such/path", "/apis/nosuch.example.com", "/apis/nosuch.example.com/v1/things"],
)
def test_unknown_paths_are_plain_text(server: APIServer, path: str) -> None:
    """A path that nothing answers is 404 in plain text."""
    answer = server.get(path)
    assert (answer.status, answer.body) == (404, "404 page not found\n")
    assert answer.content_type.startswith("text/plain")


@pytest.mark.parametrize(
    "path",
    [
        "/apis/apps/v9",
        "/apis/apps/v1/namespaces/default/things",
        "/api/v1/namespaces/default/nodes",
        "/api/v2",
    ],
)
def test_unknown_resources_of_known_groups_are_a_status(server: APIServer, path: str) -> None:
    """In a built-in group an unknown version or resource is a Status."""
    answer = server.get(path)
    assert (answer.status, answer.body["reason"]) == (404, "NotFound")
    assert answer.message == "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/apis/apps/v1/deployments"),
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps/foo"),
        ("DELETE", "/version"),
        ("DELETE", "/api/v1/namespaces"),
    ],
)
def test_methods_that_a_path_does_not_offer(server: APIServer, method: str, path: str) -> None:
    """A known path with a method it does not have is 405."""
    answer = server.request(method, path, {})
    assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")
    assert answer.message == "the server does not allow this method on the requested resource"


def test_a_missing_object_is_named(server: APIServer, widgets: Widgets) -> None:
    """A GET of an object that is not there is 404 with its name and resource, group included."""
    custom = server.get(f"{widgets.path}/nosuch")
    assert custom.body["details"] == {"name": "nosuch", "group": widgets.group, "kind": "widgets"}
    built_in = server.get(f"/api/v1/namespaces/{widgets.namespace}/configmaps/nosuch")
    assert built_in.message == 'configmaps "nosuch" not found'
    assert built_in.body["details"] == {"name": "nosuch", "kind": "configmaps"}


def test_media_types_that_cannot_be_produced(widgets: Widgets) -> None:
    """An Accept header that nothing satisfies is 406 and lists what there is."""
    refused = widgets.server.get(widgets.path, accept="text/html")
    assert (refused.status, refused.body["reason"]) == (406, "NotAcceptable")
    assert refused.message == (
        "only the following media types are accepted: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    fallback = "application/json;as=Table;v=v9;g=meta.k8s.io,application/json"
    assert widgets.server.get(widgets.path, accept=fallback).body["kind"] == "WidgetList"


def test_yaml_can_be_asked_for(widgets: Widgets) -> None:
    """The answer is YAML when the client accepts that; errors are too."""
    widgets.create("a")
    answer = widgets.server.get(f"{widgets.path}/a", accept="application/yaml")
    assert answer.content_type == "application/yaml"
    assert "\nkind: Widget\n" in answer.body
    missing = widgets.server.get(f"{widgets.path}/b", accept="application/yaml")
    assert "code: 404\n" in missing.body


def test_media_types_that_cannot_be_read(widgets: Widgets) -> None:
    """A body of an unknown type is 415 and lists the allowed ones."""
    refused = widgets.server.create(widgets.path, b"x", content_type="text/plain")
    assert (refused.status, refused.body["reason"]) == (415, "UnsupportedMediaType")
    assert refused.message.startswith(
        "the body of the request was in an unknown format - accepted media types"
    )


def test_bodies_are_bounded(server: APIServer, namespace: str) -> None:
    """A body of more than 3 MiB is 413."""
    data = {"metadata": {"name": "big"}, "data": {"a": "x" * (3 * 1024 * 1024)}}
    refused = server.create(f"/api/v1/namespaces/{namespace}/configmaps", data)
    assert (refused.status, refused.body["reason"]) == (413, "RequestEntityTooLarge")
    assert "limit is 3145728" in refused.message


def test_wrong_credentials(server: APIServer) -> None:
    """An unknown token is 401 everywhere, even where no token is needed."""
    for path in ("/api/v1/namespaces", "/version"):
        refused = server.get(path, token="nobody")
        assert (refused.status, refused.body["reason"]) == (401, "Unauthorized")
        assert refused.message == "Unauthorized"


def test_no_credentials(server: APIServer) -> None:
    """Without credentials one may ask for version and health, and nothing else."""
    assert server.get("/version", token="").status == 200
    assert server.get("/healthz", token="").body == "ok"
    refused = server.get("/api/v1/namespaces", token="")
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.message == (
        'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" '
        "at the cluster scope"
    )
    assert server.get("/api", token="").message == 'forbidden: User "system:anonymous" cannot get path "/api"'


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/version", 405),
        ("/api", 405),
        ("/api/v1", 405),
        ("/apis", 200),
        ("/apis/apps", 200),
        ("/apis/apps/v1", 405),
        ("/healthz", 200),
        ("/api/v1/nodes", 405),
        ("/api/v1/namespaces/default", 405),
        ("/api/v1/namespaces/default/configmaps/nosuch", 405),
        ("/api/v1/watch/pods", 405),
        ("/apis/apps/v1/nosuch", 404),
        ("/no/such/path", 404),
    ],
)
def test_head(server: APIServer, path: str, status: int) -> None:
    """HEAD is for documents, and not for built-in resources, whether they are there or not."""
    assert server.request("HEAD", path).status == status


def test_head_of_custom_resources(widgets: Widgets) -> None:
    """They are served by another handler, which answers HEAD like GET."""
    widgets.create("a")
    paths = [widgets.path, f"{widgets.path}/a", f"{widgets.path}/nosuch", f"/apis/{widgets.group}/v1"]
    assert [widgets.server.request("HEAD", path).status for path in paths] == [200, 200, 404, 200]


@pytest.mark.parametrize("path", ["/%zz", "/api/v1/namespaces/%", "/api/v1/namespaces/default%2"])
def test_percent_signs_that_escape_nothing(server: APIServer, path: str) -> None:
    """A path that cannot be decoded is 400 in plain text."""
    answer = server.get(path)
    assert (answer.status, answer.body) == (400, "400 Bad Request")
    assert answer.content_type == "text/plain; charset=utf-8"


def test_targets_in_absolute_form(server: APIServer) -> None:
    """A request line with a whole URL, as a proxy gets it, asks for its path."""
    answer = server.get(f"{server.endpoint.url}/api/v1/namespaces/default?pretty=false")
    assert (answer.status, answer.body["metadata"]["name"]) == (200, "default")
