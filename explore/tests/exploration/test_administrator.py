"""An administrator of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handloop.client.http.response import Response
from handloop.controller.foo.types import Foo
from handloop_explore.administrator import Administrator, RefusedError
from handloop_explore.cluster import VirtualCluster
from support.builders.workloads import FOO

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "kube-system"}}


def test_a_manifest_has_its_path(cluster: VirtualCluster) -> None:
    """By what the server says of its kind; a cluster-wide kind has no namespace."""
    assert cluster.path_of(FOO).endswith("/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos/a")
    assert cluster.path_of(CONFIG, named=False) == "/api/v1/namespaces/kube-system/configmaps"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert cluster.path_of(node) == "/api/v1/nodes/n"
    with pytest.raises(RefusedError, match="no kind Nonsense in v1"):
        cluster.path_of({"apiVersion": "v1", "kind": "Nonsense", "metadata": {}})


def test_a_refusal_is_an_error_and_nothing_found_is_none(cluster: VirtualCluster) -> None:
    """With the server's words."""
    assert cluster.find(cluster.path_of(FOO)) is None
    with pytest.raises(RefusedError, match=r'foos\.samplecontroller\.k8s\.io "a" not found'):
        cluster.send("DELETE", cluster.path_of(FOO))


def test_objects_are_as_kubectl_shows_them(cluster: VirtualCluster) -> None:
    """So a step may use one as a manifest."""
    made = cluster.send("POST", cluster.path_of(FOO, named=False), FOO)
    (found,) = cluster.objects(Foo)
    assert (found["apiVersion"], found["kind"]) == (made["apiVersion"], "Foo")
    assert cluster.path_of(found) == cluster.path_of(FOO)


class Confined(Administrator):
    def repeat(self, name: str, done: Callable[[], bool]) -> None: ...

    def later(self, name: str, seconds: float, act: Callable[[], object]) -> None: ...


def test_one_with_a_namespace_sees_and_makes_objects_there_alone(cluster: VirtualCluster) -> None:
    """Whatever a manifest says."""
    confined = Confined(cluster.transport(), "kube-system")
    assert confined.path_of(FOO).endswith("/namespaces/kube-system/foos/a")
    cluster.send("POST", cluster.path_of(FOO, named=False), FOO)
    assert (len(cluster.objects(Foo)), confined.objects(Foo)) == (1, [])


class PlainText:
    def request(self, *_: str, **__: object) -> Response:
        return Response(404, {}, b"404 page not found\n")


def test_a_refusal_may_be_plain_text() -> None:
    """As a real server's, of a path that it does not serve yet."""
    transport: Any = PlainText()
    with pytest.raises(RefusedError, match=r"GET /apis/x: 404 page not found$"):
        Confined(transport).send("GET", "/apis/x")
