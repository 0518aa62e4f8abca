"""Names and URLs of kinds."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.resource import GroupVersionKind, Resource, namespace_in
from handloop.controller.foo.types import Foo

POD = Resource("", "v1", "pods", "Pod")
NODE = Resource("", "v1", "nodes", "Node", namespaced=False)


@pytest.mark.parametrize(
    ("resource", "parts", "path"),
    [
        (Foo.resource, {}, "/apis/samplecontroller.k8s.io/v1alpha1/foos"),
        (Deployment.resource, {"namespace": "a"}, "/apis/apps/v1/namespaces/a/deployments"),
        (
            Foo.resource,
            {"namespace": "a", "name": "b", "subresource": "status"},
            "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/a/foos/b/status",
        ),
        (POD, {"namespace": "a", "name": "b"}, "/api/v1/namespaces/a/pods/b"),
        (NODE, {"namespace": "ignored", "name": "n"}, "/api/v1/nodes/n"),
        (POD, {"namespace": "a..b", "name": "c?d"}, "/api/v1/namespaces/a..b/pods/c%3Fd"),
    ],
)
def test_paths(resource: Resource, parts: dict[str, str], path: str) -> None:
    """Core and named groups, both scopes, subresources; a name cannot leave its place in the URL."""
    assert resource.path(**parts) == path


def test_names() -> None:
    """ApiVersion and group resource leave out the empty group."""
    assert POD.api_version == "v1"
    assert Deployment.resource.api_version == "apps/v1"
    assert POD.group_resource == "pods"
    assert Foo.resource.group_resource == "foos.samplecontroller.k8s.io"
    assert str(Foo.resource) == "foos.samplecontroller.k8s.io/v1alpha1"
    assert str(GroupVersionKind("apps", "v1", "Deployment")) == "apps/v1, Kind=Deployment"


@pytest.mark.parametrize("text", ["..", ".", "a/b", "../x", "/", "a%2Fb", "%"])
@pytest.mark.parametrize("part", ["name", "namespace", "subresource"])
def test_a_text_that_would_lead_elsewhere_makes_no_path(text: str, part: str) -> None:
    """A gateway resolves dots, and a server decodes slashes: a delete would meet another object."""
    parts = {"namespace": "n", "name": "x", "subresource": "status"} | {part: text}
    with pytest.raises(ValueError, match="it may not"):
        POD.path(**parts)


def test_other_odd_texts_are_quoted() -> None:
    """They address nothing, and no other object."""
    path = POD.path(namespace="a b", name="x?y#z\n\ud800")
    assert path == "/api/v1/namespaces/a%20b/pods/x%3Fy%23z%0A%ED%A0%80"


@pytest.mark.parametrize(
    ("path", "namespace"),
    [
        (POD.path(namespace="a"), "a"),
        (Foo.resource.path(namespace="a", name="x", subresource="status"), "a"),
        (POD.path(), ""),
        ("/apis/example.com/v1/teams/a", ""),
        *((f"/api/v1/namespaces/a{rest}", "") for rest in ("", "/status", "/finalize")),
    ],
)
def test_a_path_tells_the_namespace_of_its_objects(path: str, namespace: str) -> None:
    """A Namespace itself, and its subresources, are in none."""
    assert namespace_in(path) == namespace
