"""Pages and watch blocks whose foreign objects are dropped before they are decoded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.client.decoding.sieve import Foreign, foreign
from handloop.client.decoding.watch_stream import EventDecoder
from handloop.client.resource_client import codec_of
from handloop.controller.foo.types import Foo

CODEC = codec_of(Foo)
API_VERSION = "samplecontroller.k8s.io/v1alpha1"


class Ours:
    """Keeps the namespace "ours"; asked = the UIDs that were asked for."""

    def __init__(self, *, metadata_first: bool = True) -> None:
        self.metadata_first = metadata_first
        self.asked: list[str] = []

    def keeps(self, namespace: str, uid: str) -> bool:
        self.asked.append(uid)
        return namespace == "ours"


def foo(name: str, rv: int, namespace: str = "ours", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"u-{name}", "resourceVersion": str(rv)}
    kind = {"kind": "Foo", "apiVersion": API_VERSION}
    return {**kind, "metadata": metadata, "spec": spec}


def page(*items: dict[str, Any], **metadata: Any) -> bytes:
    kind = {"kind": "FooList", "apiVersion": API_VERSION}
    return json.dumps({**kind, "metadata": {"resourceVersion": "9", **metadata}, "items": items}).encode()


def lines(*events: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"type": kind, "object": obj}).encode() + b"\n" for kind, obj in events)


def told(decoder: EventDecoder[Foo], data: bytes) -> list[str]:
    """The events in words."""
    found = []
    for event_type, obj in decoder.decode(data).events:
        match obj:
            case Foo():
                found.append(f"{event_type} {obj.metadata.name}")
            case Foreign():
                found.append(f"foreign {obj.resource_version}")
            case _:
                found.append(f"{event_type} {type(obj).__name__}")
    return found


def test_of_a_page_only_wanted_items_are_decoded() -> None:
    """So a foreign object that does not fit its type is nobody's trouble here; ours is."""
    body = page(foo("a", 1), foo("b", 2, "theirs", replicas="x"), foo("c", 3, replicas="x"))
    decoded = CODEC.pages.decode(body, Ours())
    assert [item.metadata.name for item in decoded.items] == ["a"]
    assert [(bad.key_name, bad.uid) for bad in decoded.undecodable] == [("c", "u-c")]
    assert not decoded.narrowed


def test_a_page_that_is_decoded_whole_asks_nothing_unless_an_object_does_not_fit() -> None:
    """Whoever reads it looks at the objects; those that do not fit never become objects."""
    sieve = Ours(metadata_first=False)
    decoded = CODEC.pages.decode(page(foo("a", 1), foo("b", 2, "theirs")), sieve)
    assert (len(decoded.items), sieve.asked) == (2, [])
    decoded = CODEC.pages.decode(page(foo("a", 1), foo("b", 2, "theirs", replicas="x")), sieve)
    assert (len(decoded.items), decoded.undecodable, sieve.asked) == (1, (), ["u-a", "u-b"])


def test_the_server_says_of_a_list_that_it_is_narrowed() -> None:
    """By its shardInfo."""
    assert CODEC.pages.decode(page(shardInfo={"selector": "shardRange(...)"})).narrowed


@pytest.mark.parametrize("metadata_first", [True, False])
def test_of_a_block_only_wanted_lines_are_decoded(metadata_first: bool) -> None:
    """A foreign object at the end tells how far the block came; bookmarks and errors are nobody's."""
    sieve = Ours(metadata_first=metadata_first)
    decoder = CODEC.events(sieve)
    mark = {
        "kind": "Foo",
        "apiVersion": API_VERSION,
        "metadata": {"resourceVersion": "5"},
    }
    data = lines(
        ("ADDED", foo("a", 1)),
        ("MODIFIED", foo("b", 2, "theirs", replicas="x")),
        ("BOOKMARK", mark),
        ("DELETED", foo("c", 6)),
        ("DELETED", foo("d", 7, "theirs")),
    )
    found = told(decoder, data)
    assert [each for each in found if each != "foreign 2"] == [
        "ADDED a",
        "BOOKMARK Bookmark",
        "DELETED c",
        "foreign 7",
    ]
    assert told(decoder, lines(("ADDED", foo("e", 8, "theirs", replicas="x")))) == ["foreign 8"]
    error = {"kind": "Status", "code": 410, "reason": "Expired"}
    assert told(decoder, lines(("ADDED", foo("e", 9, "theirs", replicas=1)), ("ERROR", error)))[-1] == (
        "ERROR Expired"
    )


def test_a_block_with_a_line_that_cannot_be_told_is_read_line_by_line() -> None:
    """The events before it are returned, without the foreign ones."""
    decoder = CODEC.events(Ours())
    data = lines(("ADDED", foo("a", 1)), ("ADDED", foo("b", 2, "theirs", replicas="x"))) + b"{broken\n"
    decoded = decoder.decode(data)
    assert [type(event.object).__name__ for event in decoded.events] == ["Foo", "Foreign"]
    assert decoded.error is not None
    assert [type(event.object).__name__ for event in decoder.decode(b"\n\n").events] == []


def test_what_has_no_metadata_is_not_foreign() -> None:
    """Its reader says what is wrong with it."""
    assert foreign(b"[]", Ours()) is None
    assert foreign(b'{"metadata": {"namespace": "x"}}', None) is None
