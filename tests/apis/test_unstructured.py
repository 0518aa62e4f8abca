"""Objects of kinds without a type."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from handloop.apis.meta import EMPTY_MAP, FrozenMap, OwnerReference
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured

RAW = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": {"x": [1]}}'
Pod = Unstructured.of("v1", "Pod")


def test_a_kind_is_one_type() -> None:
    """Informers and caches are by type; the names are those of a declared kind."""
    assert Unstructured.of("v1", "Pod") is Pod
    assert Pod.resource == Resource("", "v1", "pods", "Pod", singular="pod")
    assert Unstructured.of_resource(Pod.resource) is Unstructured.of("v1", "Pod", plural="pods")
    zone = Unstructured.of("example.org/v1", "Zone", plural="zonen", scope="Cluster")
    assert zone.resource.path(name="a") == "/apis/example.org/v1/zonen/a"
    with pytest.raises(TypeError, match="group='Example'"):
        Unstructured.of("Example/v1", "Zone")


def test_metadata_is_read_and_the_rest_kept() -> None:
    """Names come from the metadata; nothing of the object is lost."""
    obj = Pod.from_json(RAW)
    assert (obj.api_version, obj.metadata.name) == ("v1", "a")
    assert obj.raw == RAW
    assert obj.content()["spec"] == {"x": [1]}
    assert repr(obj) == "<Pod b/a>"


def test_an_item_of_a_list_gets_its_kind() -> None:
    """Lists of built-in kinds leave it out, and a write needs it; another kind is refused."""
    obj = Pod.from_json(b' {"metadata": {"name": "a"}}')
    assert obj.content() == {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}
    for other in (b'{"kind": "Node"}', b'{"apiVersion": "v2"}', b"[]"):
        with pytest.raises(ValueError):
            Pod.from_json(other)


def test_content_is_the_callers_to_change() -> None:
    """A changed dict does not reach the object."""
    obj = Pod.from_json(RAW)
    obj.content()["spec"]["x"].append(2)
    assert obj.content()["spec"] == {"x": [1]}


def test_it_owns_its_bytes() -> None:
    """A slice of a list page is copied, so that one object does not keep the page alive."""
    page = bytearray(RAW + RAW)
    obj = Pod.from_json(bytes(memoryview(page)[: len(RAW)]))
    page[:] = b"x" * len(page)
    assert obj.raw == RAW


def test_changed_metadata_is_part_of_the_object() -> None:
    """Whoever encodes it: labels, owners and all else that evolve and with_controller change or take away."""
    head = b'{"name":"a","uid":"1","labels":{"x":"1"},"selfLink":"/a","managedFields":[]}'
    raw = b'{"metadata":' + head + b',"spec":{}}'
    obj = Pod.from_json(raw)
    owner = OwnerReference(api_version="v1", kind="Node", name="n", uid="2", controller=True)
    metadata = replace(
        obj.metadata, labels=EMPTY_MAP, owner_references=(owner,), annotations=FrozenMap({"y": "2"})
    )
    changed = replace(obj, metadata=metadata)
    names = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "2"}
    said = {**names, "controller": True, "blockOwnerDeletion": False}
    kept = {"name": "a", "uid": "1", "selfLink": "/a", "managedFields": []}
    assert changed.content() == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {**kept, "annotations": {"y": "2"}, "ownerReferences": [said]},
        "spec": {},
    }
    assert msgspec.json.decode(changed.to_json()) == changed.content()
    assert obj.to_json() is obj.raw


def test_an_object_without_bytes_has_its_names() -> None:
    """As Kind.named makes it."""
    made = Pod.named("a", namespace="b")
    assert made.content() == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}}
