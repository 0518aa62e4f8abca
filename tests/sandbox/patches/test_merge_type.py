from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.patches.merge_type import ElementError, ListType, compile_type, type_of_resource
from support.builtin import builtin
from support.thing import SCHEMA, THINGS


def _list(name: str) -> ListType:
    spec = compile_type(SCHEMA).map
    assert spec is not None
    inner = spec.member("spec")
    assert inner is not None
    assert inner.map is not None
    atom = inner.map.member(name)
    assert atom is not None
    assert atom.list is not None
    return atom.list


@pytest.mark.parametrize(
    ("name", "entry", "element"),
    [
        ("tags", "a", 'v:"a"'),
        ("items", {"name": "x", "v": "1"}, 'k:{"name":"x"}'),
        ("ports", {"port": 80, "proto": "UDP"}, 'k:{"port":80,"proto":"UDP"}'),
        ("ports", {"port": 80}, 'k:{"port":80,"proto":"TCP"}'),
    ],
)
def test_entries_are_named_by_value_or_keys(name: str, entry: Any, element: str) -> None:
    """Sets by the value, maps by their keys, with the default of one that is left out."""
    kind = _list(name)
    assert kind.associative
    assert kind.element(entry) == element


def test_an_entry_without_keys_has_no_name() -> None:
    """Nothing tells it from others."""
    with pytest.raises(ElementError):
        _list("items").element({"v": "1"})


def test_other_lists_are_one_value() -> None:
    """Without a list type nothing is merged."""
    assert not _list("plain").associative


def test_maps_are_merged_unless_they_are_atomic() -> None:
    """A map type of atomic makes one value of an object."""
    root = compile_type(SCHEMA).map
    assert root is not None
    spec = root.member("spec")
    assert spec is not None
    assert spec.map is not None
    atomic, labels = spec.map.member("atom"), spec.map.member("labels")
    assert atomic is not None
    assert labels is not None
    assert atomic.map is not None
    assert atomic.map.atomic
    assert labels.map is not None
    assert not labels.map.atomic
    assert not labels.map.declares("any")
    assert labels.map.member("any") is not None
    assert spec.map.declares("labels")
    assert spec.map.member("nosuch") is None


def test_a_value_decides_what_may_be_anything() -> None:
    """Below a member that preserves everything, lists are atomic and maps are merged."""
    root = compile_type(SCHEMA).map
    assert root is not None
    spec = root.member("spec")
    assert spec is not None
    assert spec.map is not None
    free = spec.map.member("free")
    assert free is not None
    assert free.of({}).map is not None
    number = spec.map.member("ios")
    assert number is not None
    assert number.of(5).scalar is not None


def test_built_in_and_custom_kinds_have_a_type() -> None:
    """Metadata included: finalizers are a set, owner references are told apart by uid."""
    for resource in (THINGS, builtin("", "pods")):
        top = type_of_resource(resource).map
        assert top is not None
        metadata = top.member("metadata")
        assert metadata is not None
        assert metadata.map is not None
        finalizers, owners = metadata.map.member("finalizers"), metadata.map.member("ownerReferences")
        assert finalizers is not None
        assert finalizers.list is not None
        assert finalizers.list.element("a") == 'v:"a"'
        assert owners is not None
        assert owners.list is not None
        assert owners.list.element({"uid": "u", "name": "n"}) == 'k:{"uid":"u"}'
