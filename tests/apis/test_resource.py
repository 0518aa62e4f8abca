"""Names and URLs of kinds."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.resource import GroupVersionKind, Resource
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
        (POD, {"namespace": "a/../b", "name": "c?d"}, "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd"),
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
