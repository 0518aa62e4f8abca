from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.patches.merge_type import ListType, compile_type, type_of_resource
from support.builders.builtin import builtin
from support.builders.thing import SCHEMA, THINGS


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


def test_built_in_and_custom_kinds_have_a_type() -> None:
    """Metadata included: finalizers are a set, owner references have their uid as key."""
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
