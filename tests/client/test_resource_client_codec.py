from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import EventType, WrongKind
from handloop.client.errors import DecodeError
from handloop.client.resource_client import codec_of
from handloop.controller.foo.types import Foo, FooSpec

WIDGETS = Resource("conf.example.com", "v1", "widgets", "Widget")


def widget(name: str = "w", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": "5"}
    return {"kind": "Widget", "apiVersion": "conf.example.com/v1", "metadata": metadata} | fields


def test_a_typed_object_survives_the_wire() -> None:
    """What is encoded decodes to an equal object."""
    codec = codec_of(Foo)
    foo = Foo(
        metadata=ObjectMeta(name="a", labels=FrozenMap({"k": "ä"})),
        spec=FooSpec(deployment_name="d", replicas=3),
    )
    body = codec.encode(foo)
    assert json.loads(body)["kind"] == "Foo"
    assert json.loads(body)["apiVersion"] == "samplecontroller.k8s.io/v1alpha1"
    assert codec.decode(body) == foo


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"kind":"Bar"}', b'{"apiVersion":"v2"}', b'{"x":"\xff"}'], ids=repr
)
def test_what_is_not_the_kind_is_one_error(body: bytes) -> None:
    """T12, T13: an answer that is not the object raises DecodeError."""
    with pytest.raises(DecodeError):
        codec_of(Foo).decode(body)
    with pytest.raises(DecodeError):
        codec_of(Unstructured.of_resource(WIDGETS)).decode(body)


def test_unknown_fields_are_skipped_and_deep_ones_too() -> None:
    """T14: a typed view sees its own fields only, however deep the others are."""
    body = b'{"metadata":{"name":"d"},"spec":{"strategy":' + b"[" * 5000 + b"]" * 5000 + b"}}"
    assert codec_of(Deployment).decode(body).metadata.name == "d"


def test_an_untyped_object_keeps_its_bytes() -> None:
    """An object of a kind nobody typed is encoded as it came, unknown fields included."""
    codec = codec_of(Unstructured.of_resource(WIDGETS))
    body = json.dumps(widget(spec={"size": 3})).encode()
    obj = codec.decode(body)
    assert (obj.metadata.name, obj.content()["spec"]) == ("w", {"size": 3})
    assert codec.encode(obj) == body


def test_untyped_pages_and_events() -> None:
    """Lists and watches of an untyped kind give objects with their bytes, and quarantine what is broken."""
    codec = codec_of(Unstructured.of_resource(WIDGETS))
    page = {
        "kind": "WidgetList",
        "apiVersion": "conf.example.com/v1",
        "metadata": {"resourceVersion": "9"},
        "items": [
            widget("a", spec=1),
            widget("b", metadata={"name": "b", "resourceVersion": "1", "labels": 5}),
        ],
    }
    decoded = codec.pages.decode(json.dumps(page).encode())
    assert [item.content()["spec"] for item in decoded.items] == [1]
    assert [entry.key_name for entry in decoded.undecodable] == ["b"]
    lines = b"".join(
        json.dumps({"type": kind, "object": obj}).encode() + b"\n"
        for kind, obj in (
            ("ADDED", widget("a")),
            ("MODIFIED", widget("b", metadata={"name": "b", "resourceVersion": "1", "labels": 5})),
            ("ADDED", {**widget("c"), "kind": "Other"}),
        )
    )
    events = codec.events().decode(lines).events
    assert [type(event.object) for event in events] == [
        Unstructured.of_resource(WIDGETS),
        Undecodable,
        WrongKind,
    ]
    assert events[0].type is EventType.ADDED
