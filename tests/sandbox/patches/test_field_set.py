from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from handloop.sandbox.patches import field_set
from handloop.sandbox.patches.field_set import FieldSet

_A: FieldSet = {"f:a": {}, "f:b": {".": {}, "f:c": {}, "f:d": {}}}
_B: FieldSet = {"f:b": {"f:c": {}}, "f:e": {}}


def _set(*paths: Sequence[str]) -> FieldSet:
    found: FieldSet = {}
    for path in paths:
        field_set.insert(found, path)
    return found


def test_elements_are_spelled_as_in_fields_v1() -> None:
    """Names, keys and values, the latter two as Go's JSON."""
    assert field_set.field_element("a") == "f:a"
    assert field_set.key_element({"port": 80, "name": "<"}) == 'k:{"name":"\\u003c","port":80}'
    assert field_set.value_element("x/y") == 'v:"x/y"'


def test_a_parent_of_members_is_one_itself_only_if_it_was_inserted() -> None:
    """The entry "." tells the two apart, whatever came first."""
    assert _set(["f:a", "f:b"]) == {"f:a": {"f:b": {}}}
    assert _set(["f:a"], ["f:a", "f:b"]) == {"f:a": {".": {}, "f:b": {}}}
    assert _set(["f:a", "f:b"], ["f:a"]) == {"f:a": {".": {}, "f:b": {}}}
    assert _set([]) == {}


@pytest.mark.parametrize(
    ("operation", "left", "right", "result"),
    [
        (
            field_set.union,
            _A,
            _B,
            {"f:a": {}, "f:b": {".": {}, "f:c": {}, "f:d": {}}, "f:e": {}},
        ),
        (field_set.union, {"f:b": {}}, {"f:b": {"f:c": {}}}, {"f:b": {".": {}, "f:c": {}}}),
        (field_set.union, {}, _B, _B),
        (field_set.difference, _A, _B, {"f:a": {}, "f:b": {".": {}, "f:d": {}}}),
        (field_set.difference, _A, {"f:b": {}}, {"f:a": {}, "f:b": {"f:c": {}, "f:d": {}}}),
        (field_set.difference, _A, _A, {}),
        (field_set.intersection, _A, _B, {"f:b": {"f:c": {}}}),
        (field_set.intersection, _A, {"f:b": {}}, {"f:b": {}}),
        (field_set.intersection, _A, {"f:z": {}}, {}),
        (field_set.without, _A, {"f:b": {}}, {"f:a": {}}),
        (field_set.without, _A, _B, {"f:a": {}, "f:b": {".": {}, "f:d": {}}}),
    ],
)
def test_algebra(operation: Any, left: FieldSet, right: FieldSet, result: FieldSet) -> None:
    """Sets are combined member by member, and the arguments stay as they are."""
    before = copy.deepcopy((left, right))
    assert operation(left, right) == result
    assert (left, right) == before


def test_membership() -> None:
    """An element is a member, or only has members below it."""
    assert [field_set.has(_A, element) for element in ("f:a", "f:b", "f:z")] == [True, True, False]
    assert not field_set.has(_B, "f:b")
    assert field_set.below(_A, "f:b") == {"f:c": {}, "f:d": {}}
    assert field_set.below(_A, "f:a") == {}


def test_paths_are_sorted_parents_before_children() -> None:
    """Every member once, those of one node before what lies deeper."""
    assert list(field_set.paths(_A)) == [("f:a",), ("f:b",), ("f:b", "f:c"), ("f:b", "f:d")]


def test_paths_as_messages_show_them() -> None:
    """Names with dots, keys and values in brackets."""
    path = ("f:spec", 'k:{"port":80,"name":"x"}', "f:tags", 'v:"a"', "i:3")
    assert field_set.shown(path) == '.spec[name="x",port=80].tags[="a"][3]'


def test_graft_takes_a_whole_node() -> None:
    """A node becomes part of the set as it is."""
    fields: FieldSet = {"f:a": {}}
    field_set.graft(fields, ["f:a", "f:b"], {"f:c": {}})
    assert fields == {"f:a": {".": {}, "f:b": {"f:c": {}}}}
