from __future__ import annotations

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_version_and_health(server: APIServer) -> None:
    """The version has major and minor; the health endpoints answer ok."""
    version = server.get("/version").body
    assert (version["major"], version["minor"]) == ("1", "36")
    for path in ("/healthz", "/livez", "/readyz"):
        assert server.get(path).body == "ok"
    assert "readyz check passed" in server.get("/readyz?verbose").body


def test_metrics_are_exposed(server: APIServer) -> None:
    """/metrics counts requests in the Prometheus text format."""
    server.get("/version")
    assert "apiserver_request_total{" in server.get("/metrics").body


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_aggregated_discovery(server: APIServer, path: str) -> None:
    """One answer lists every resource with its verbs and subresources, in the media type asked for."""
    answer = server.get(path, accept=f"{_AGGREGATED},application/json")
    assert answer.content_type == _AGGREGATED
    assert answer.body["kind"] == "APIGroupDiscoveryList"
    resources = {
        resource["resource"]: resource
        for group in answer.body["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    name, scope = ("pods", "Namespaced") if path == "/api" else ("deployments", "Namespaced")
    assert resources[name]["scope"] == scope
    assert {"get", "list", "watch", "create"} <= set(resources[name]["verbs"])
    assert "status" in {entry["subresource"] for entry in resources[name]["subresources"]}


def test_aggregated_discovery_can_be_cached(server: APIServer) -> None:
    """The aggregated document has an ETag; asking with it answers 304 without a body."""
    answer = server.get("/api", accept=_AGGREGATED)
    tag = next(value for name, value in answer.headers if name.lower() == "etag")
    again = server.get("/api", accept=_AGGREGATED, headers={"If-None-Match": tag})
    assert (again.status, again.body) == (304, "")


def test_plain_discovery(server: APIServer, widgets: Widgets) -> None:
    """Without the aggregated media type there are group and resource lists."""
    assert server.get("/api").body["versions"] == ["v1"]
    groups = {group["name"] for group in server.get("/apis").body["groups"]}
    assert {"apps", "batch", "coordination.k8s.io", widgets.group} <= groups
    resources = {entry["name"]: entry for entry in server.get("/apis/apps/v1").body["resources"]}
    assert resources["deployments"]["shortNames"] == ["deploy"]
    assert resources["deployments/scale"]["kind"] == "Scale"
    assert resources["deployments/scale"]["group"] == "autoscaling"
    assert "/apis/apps/v1" in server.get("/").body["paths"]
