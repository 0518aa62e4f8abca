from __future__ import annotations

import msgspec
import pytest

from handloop.apis.partial_metadata import PartialObjectMetadata, metadata_of
from handloop.client.resource_client import codec_of
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import Namespace, Secret

NAMES = b'"kind":"PartialObjectMetadata%s","apiVersion":"meta.k8s.io/v1"'
ITEM = b'{%s,"metadata":{"name":"a","resourceVersion":"7"}}' % NAMES.replace(b"%s", b"")


def test_it_is_one_type_with_the_names_of_the_kind() -> None:
    """So its objects are where the whole ones are, and two askers share one cache."""
    assert PartialObjectMetadata[Secret] is metadata_of(Secret)
    for kind in (Secret, Namespace, Foo):
        metadata = metadata_of(kind)
        assert metadata.resource._replace(short_names=()) == kind.resource._replace(short_names=())
        assert (metadata.whole, metadata.partial) == (kind, True)
        assert not hasattr(metadata(), "spec")


def test_what_is_asked_for() -> None:
    """A list is another kind; whole objects are asked for in no way."""
    codec = codec_of(PartialObjectMetadata[Secret])
    form = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
    assert codec.accept("list") == {"Accept": form.format("List")}
    assert codec.accept("get") == codec.accept("watch") == {"Accept": form.format("")}
    assert codec_of(Secret).accept("list") == {}


def test_what_comes_is_read_and_nothing_else() -> None:
    """Objects, lists and events of the wire's kind; a whole object would be one that was not asked for."""
    codec = codec_of(PartialObjectMetadata[Secret])
    assert codec.decode(ITEM).metadata.name == "a"
    page = b'{%s,"metadata":{},"items":[%s]}' % (NAMES % b"List", ITEM)
    assert [each.metadata.name for each in codec.pages.decode(page).items] == ["a"]
    events = codec.events().decode(b'{"type":"ADDED","object":%s}\n' % ITEM).events
    assert [type(event.object) for event in events] == [PartialObjectMetadata[Secret]]
    whole = b'{"kind":"Secret","apiVersion":"v1","metadata":{}}'
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(whole, type=PartialObjectMetadata[Secret])
