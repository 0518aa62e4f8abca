from __future__ import annotations

import pytest

from support.servers.local_server import LocalServer, with_widgets

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize("name", ["healthz", "livez", "readyz"])
def test_health(server: LocalServer, name: str) -> None:
    """Health is a word, or a list of checks when asked."""
    assert server.request("GET", f"/{name}").body == "ok"
    verbose = str(server.request("GET", f"/{name}?verbose").body)
    assert verbose.startswith("[+]ping ok\n")
    assert verbose.endswith(f"{name} check passed\n")
    assert server.request("GET", f"/{name}/ping").body == "ok"
    assert server.request("GET", f"/{name}/nothing").status == 404


def test_discovery_in_both_forms(server: LocalServer) -> None:
    """Aggregated discovery has its media type and a tag; without it there are lists by group."""
    with_widgets(server)
    answer = server.request("GET", "/apis", accept=_AGGREGATED)
    headers = dict(answer.headers)
    assert headers["Content-Type"] == _AGGREGATED
    again = server.request("GET", "/apis", accept=_AGGREGATED, if_none_match=headers["ETag"])
    assert (again.status, again.body) == (304, "")
    assert server.request("GET", "/apis").body["kind"] == "APIGroupList"
    assert server.request("GET", "/api").body["kind"] == "APIVersions"
    assert server.request("GET", "/apis/example.com/v1").body["kind"] == "APIResourceList"
    assert server.request("GET", "/apis/example.com").body["kind"] == "APIGroup"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/nosuch.example.com", "404 page not found\n"),
        ("/apis/nosuch.example.com/v1", "404 page not found\n"),
        ("/openapi/v3/apis/nosuch/v1", "404 page not found\n"),
        ("/no/such/path", "404 page not found\n"),
    ],
)
def test_documents_that_are_not_there(path: str, body: str) -> None:
    """An unknown document is a page that is not there."""
    answer = LocalServer().request("GET", path)
    assert (answer.status, answer.body) == (404, body)


def test_known_groups_answer_otherwise(server: LocalServer) -> None:
    """An unknown version of a built-in group is a Status; a wrong method on a document is 405."""
    assert server.request("GET", "/apis/apps/v9").body["reason"] == "NotFound"
    assert server.request("DELETE", "/version").status == 405
    assert server.request("DELETE", "/no/such/path").status == 404


def test_open_api(server: LocalServer) -> None:
    """The index leads to documents that may be kept when asked for by hash."""
    index = server.request("GET", "/openapi/v3").body
    url = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
    answer = server.request("GET", url)
    assert dict(answer.headers)["Cache-Control"] == "public, immutable"
    assert any(name.endswith("Deployment") for name in answer.body["components"]["schemas"])


def test_version_and_metrics(server: LocalServer) -> None:
    """The version names the followed Kubernetes, the metrics count."""
    version = server.request("GET", "/version").body
    assert version["gitVersion"].endswith("+sandbox")
    assert 'apiserver_request_total{code="200",verb="GET"} 1\n' in str(server.request("GET", "/metrics").body)
    assert "/apis/apps" in server.request("GET", "/").body["paths"]
    refused = server.request("GET", "/version", accept="application/yaml")
    assert refused.status == 406
