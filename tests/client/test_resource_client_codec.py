from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import LAST_APPLIED, FrozenMap, Kind, ObjectMeta
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import EventType, WrongKind
from handloop.client.errors import DecodeError
from handloop.client.resource_client import codec_of
from handloop.controller.foo.types import Foo, FooSpec
from handloop.kinds.core_v1 import Secret

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


class SecretMeta(Kind, group="", version="v1", kind="Secret"):
    """A Secret without its data."""


class AskingSecretMeta(Kind, group="", version="v1", kind="Secret"):
    """The same, which asks for kubectl's copy."""

    keeps_last_applied = True


@pytest.mark.parametrize(("kind", "keeps"), [(SecretMeta, False), (AskingSecretMeta, True), (Secret, True)])
def test_a_view_has_no_copy_of_what_it_leaves_out(kind: type[Kind], keeps: bool) -> None:
    """Kubectl keeps the whole object in an annotation; a complete type needs it, as a PUT sends it back."""
    annotations = {LAST_APPLIED: '{"stringData":{"p":"hunter2"}}', "mine": "1"}
    metadata = {"name": "s", "resourceVersion": "8", "annotations": annotations}
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": metadata}
    page = {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [secret]}
    codec = codec_of(kind)
    decoded = codec.events().decode(json.dumps({"type": "ADDED", "object": secret}).encode() + b"\n")
    found: list[Any] = [
        codec.decode(json.dumps(secret).encode()),
        *codec.pages.decode(json.dumps(page).encode()).items,
        *(event.object for event in decoded.events),
    ]
    assert len(found) == 3
    for obj in found:
        assert obj.metadata.annotations == (annotations if keeps else {"mine": "1"})


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
