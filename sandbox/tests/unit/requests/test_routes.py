from __future__ import annotations

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests import routes
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import PageNotFoundError, StatusError
from support.builders.thing import served


def _custom(plural: str, *, namespaced: bool) -> ServedResource:
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    return served(plural=plural, kind=plural.title(), singular=plural, namespaced=namespaced, verbs=verbs)


_CATALOG = Catalog(
    (*builtin_resources(), _custom("widgets", namespaced=True), _custom("gadgets", namespaced=False))
)


def _path(path: str) -> ResourcePath:
    found = routes.resource_path(routes.split(path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", ResourcePath("", "v1", "pods")),
        ("/api/v1/namespaces/n/pods/p/log", ResourcePath("", "v1", "pods", "n", "p", "log")),
        ("/apis/apps/v1/namespaces/n/deployments", ResourcePath("apps", "v1", "deployments", "n")),
        ("/api/v1/namespaces/n", ResourcePath("", "v1", "namespaces", "", "n")),
        ("/api/v1/namespaces/n/finalize", ResourcePath("", "v1", "namespaces", "", "n", "finalize")),
        ("/api/v1/namespaces/n/status", ResourcePath("", "v1", "namespaces", "", "n", "status")),
        ("/api/v1/watch/namespaces/n/pods", ResourcePath("", "v1", "pods", "n", watching=True)),
        ("/api/v1/nodes/a%2Fb", ResourcePath("", "v1", "nodes", "", "a/b")),
        ("/apis/g/v1/p/n/s/x/y", ResourcePath("g", "v1", "p", "", "n", "s", ("x", "y"))),
    ],
)
def test_the_words_of_a_path(path: str, expected: ResourcePath) -> None:
    """Group, version, namespace, plural, name and subresource are read as the real server does."""
    assert _path(path) == expected


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1/", "/version"])
def test_documents_are_no_resources(path: str) -> None:
    """Discovery and the like are not resource paths."""
    assert routes.resource_path(routes.split(path)) is None


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("GET", "/api/v1/pods", "list"),
        ("GET", "/api/v1/namespaces/n/pods/p", "get"),
        ("POST", "/api/v1/namespaces/n/pods", "create"),
        ("DELETE", "/api/v1/namespaces/n/pods", "deletecollection"),
        ("DELETE", "/api/v1/namespaces/n/pods/p", "delete"),
        ("PATCH", "/api/v1/namespaces/n/pods/p", "patch"),
        ("PUT", "/api/v1/namespaces/n/pods", "update"),
        ("GET", "/api/v1/watch/pods", "watch"),
    ],
)
def test_what_rbac_calls_a_request(method: str, path: str, verb: str) -> None:
    """Method and path make the verb."""
    assert _path(path).verb(method) == verb


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/apis/apps/v1/things", 404),
        ("GET", "/apis/apps/v9/deployments", 404),
        ("GET", "/api/v1/namespaces/n/nodes", 404),
        ("GET", "/apis/apps/v1/deployments/d", 404),
        ("GET", "/api/v1/namespaces/n/configmaps/c/bar", 404),
        ("GET", "/apis/apps/v1/namespaces/n/deployments/d/scale/x", 404),
        ("POST", "/apis/apps/v1/deployments", 405),
        ("PUT", "/api/v1/namespaces/n/configmaps", 405),
        ("POST", "/api/v1/namespaces/n/configmaps/c", 405),
        ("DELETE", "/api/v1/namespaces", 405),
    ],
)
def test_wrong_paths_of_built_in_groups(method: str, path: str, code: int) -> None:
    """Built-in groups answer with a Status: 404 for the path, 405 for the method."""
    with pytest.raises(StatusError) as raised:
        routes.find(_CATALOG, _path(path), method)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/apis/example.com/v1/nosuch"),
        ("GET", "/apis/example.com/v9/widgets"),
        ("GET", "/apis/nosuch.example.com/v1/widgets"),
        ("GET", "/apis/example.com/v1/widgets/w"),
        ("POST", "/apis/example.com/v1/widgets"),
        ("DELETE", "/apis/example.com/v1/widgets"),
        ("GET", "/apis/example.com/v1/namespaces/n/gadgets/g"),
    ],
)
def test_wrong_paths_of_other_groups(method: str, path: str) -> None:
    """Everywhere else a wrong path is a page that is not there."""
    with pytest.raises(PageNotFoundError):
        routes.find(_CATALOG, _path(path), method)


def test_right_paths() -> None:
    """A resource is found where it is served, across namespaces for reading."""
    for path in ("/apis/example.com/v1/widgets", "/apis/example.com/v1/namespaces/n/widgets/w/whatever"):
        assert routes.find(_CATALOG, _path(path), "GET").plural == "widgets"
    assert routes.find(_CATALOG, _path("/api/v1/namespaces/n/pods/p/log"), "GET").plural == "pods"
    assert routes.is_built_in_group(_CATALOG, "apps")
    assert not routes.is_built_in_group(_CATALOG, "example.com")
