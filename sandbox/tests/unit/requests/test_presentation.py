from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests.presentation import presentation, served_object
from handloop_sandbox.storage.stored import Stored
from handloop_sandbox.wire.negotiate import AnswerShape, Form
from handloop_sandbox.wire.status import StatusError

_MAPS = next(r for r in builtin_resources() if r.plural == "configmaps")
_CUSTOM = replace(_MAPS, custom=True)
_EVENTS = next(r for r in builtin_resources() if r.plural == "events" and r.group)


def _stored(name: str, **more: Any) -> Stored:
    metadata = {"name": name, "namespace": "n", "resourceVersion": "5"}
    return Stored({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}, 5)


def test_an_object_goes_out_as_it_is_stored() -> None:
    """The bytes made when it was stored are joined to kind and version."""
    stored = _stored("a", data={"x": "1"})
    parts = presentation(Form(), _MAPS).one(stored, 0.0)
    assert stored.tail in parts
    assert json.loads(b"".join(parts)) == stored.object


def test_items_carry_their_kind_only_in_custom_lists() -> None:
    """A built-in list has bare items, a custom one whole objects; both have kind and metadata."""
    for resource, kinds in ((_MAPS, {None}), (_CUSTOM, {"ConfigMap"})):
        parts = presentation(Form(), resource).many(
            [_stored("a"), _stored("b")], {"resourceVersion": "9"}, 0.0
        )
        document = json.loads(b"".join(parts))
        assert (document["kind"], document["metadata"]) == ("ConfigMapList", {"resourceVersion": "9"})
        assert [item["metadata"]["name"] for item in document["items"]] == ["a", "b"]
        assert {item.get("kind") for item in document["items"]} == kinds
    empty = presentation(Form(), _MAPS).many([], {}, 0.0)
    assert json.loads(b"".join(empty))["items"] == []


def test_tables() -> None:
    """A table has its columns with the first event only."""
    shown = presentation(Form(AnswerShape.TABLE), _MAPS)
    table = json.loads(b"".join(shown.one(_stored("a"), 100.0)))
    assert (table["kind"], table["rows"][0]["cells"][0]) == ("Table", "a")
    assert table["metadata"] == {"resourceVersion": "5"}
    first, second = (json.loads(shown.watched(_stored("a"), 0.0, first=first)) for first in (True, False))
    assert first["columnDefinitions"]
    assert not second.get("columnDefinitions")


def test_metadata_only() -> None:
    """Partial objects have metadata only; a list has to be asked for as a list and an object as an object."""
    one = json.loads(
        b"".join(presentation(Form(AnswerShape.PARTIAL), _MAPS).one(_stored("a", data={"x": "1"}), 0.0))
    )
    assert set(one) == {"kind", "apiVersion", "metadata"}
    many = presentation(Form(AnswerShape.PARTIAL_LIST), _MAPS).many(
        [_stored("a")], {"resourceVersion": "9"}, 0.0
    )
    assert json.loads(b"".join(many))["kind"] == "PartialObjectMetadataList"
    with pytest.raises(StatusError, match="requested object is a list"):
        presentation(Form(AnswerShape.PARTIAL), _MAPS).many([], {}, 0.0)
    with pytest.raises(StatusError, match="requested object is not a list"):
        presentation(Form(AnswerShape.PARTIAL_LIST), _MAPS).one(_stored("a"), 0.0)


def test_other_encodings() -> None:
    """YAML and indentation apply to objects, lists and tables alike."""
    text = b"".join(presentation(Form(yaml=True), _MAPS).one(_stored("a"), 0.0))
    assert yaml.safe_load(text)["metadata"]["name"] == "a"
    listed = b"".join(presentation(Form(pretty=True), _MAPS).many([_stored("a")], {}, 0.0))
    assert listed.startswith(b'{\n  "kind"')
    table = b"".join(presentation(Form(AnswerShape.TABLE, yaml=True), _MAPS).many([_stored("a")], {}, 0.0))
    assert yaml.safe_load(table)["kind"] == "Table"


def test_converted_kinds() -> None:
    """A core event is shown as an events.k8s.io event where that is asked for."""
    stored = Stored({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": "hello"}, 5)
    one = json.loads(b"".join(presentation(Form(), _EVENTS).one(stored, 0.0)))
    assert (one["apiVersion"], one["note"]) == ("events.k8s.io/v1", "hello")
    assert served_object(_EVENTS, stored)["note"] == "hello"


def test_other_versions_of_one_kind() -> None:
    """A served version differs from the stored one in its apiVersion; the stored object stays as it is."""
    newer = replace(_CUSTOM, group="g", version="v2", storage_version="v1")
    stored = Stored({"apiVersion": "g/v1", "kind": "ConfigMap", "metadata": {}}, 1)
    assert served_object(newer, stored)["apiVersion"] == "g/v2"
    assert stored.object["apiVersion"] == "g/v1"
    older = replace(newer, version="v1")
    assert served_object(older, stored) is stored.object
