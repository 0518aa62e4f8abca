from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.patches.merge_type import ElementError, compile_type, type_of_resource
from handloop.sandbox.patches.typed_value import compare, field_set, violations
from support.thing import SCHEMA, THINGS, thing

_TYPE = compile_type(SCHEMA)


def _compared(left: dict[str, Any], right: dict[str, Any]) -> tuple[Any, Any, Any]:
    found = compare({"spec": left}, {"spec": right}, _TYPE)
    added, modified, removed = (part.get("f:spec", {}) for part in found)
    return added, modified, removed


@pytest.mark.parametrize(
    ("left", "right", "differences"),
    [
        ({"a": 1}, {"a": 1}, ({}, {}, {})),
        ({"a": 1}, {"a": 2}, ({}, {"f:a": {}}, {})),
        ({"a": 1}, {"a": 1, "b": "x"}, ({"f:b": {}}, {}, {})),
        ({"a": 1, "b": "x"}, {"a": 1}, ({}, {}, {"f:b": {}})),
        ({"atom": {"x": 1}}, {"atom": {"x": 2}}, ({}, {"f:atom": {}}, {})),
        ({"inner": {"x": 1}}, {"inner": {"x": 2}}, ({}, {"f:inner": {"f:x": {}}}, {})),
        ({"plain": ["a"]}, {"plain": ["b"]}, ({}, {"f:plain": {}}, {})),
        (
            {"tags": ["a", "b"]},
            {"tags": ["b", "c"]},
            ({"f:tags": {'v:"c"': {}}}, {}, {"f:tags": {'v:"a"': {}}}),
        ),
        (
            {"items": [{"name": "i", "v": "1"}]},
            {"items": [{"name": "i", "v": "2"}]},
            ({}, {"f:items": {'k:{"name":"i"}': {"f:v": {}}}}, {}),
        ),
    ],
)
def test_what_differs(left: dict[str, Any], right: dict[str, Any], differences: tuple[Any, Any, Any]) -> None:
    """Added, modified and removed fields, as fine as the type is."""
    assert _compared(left, right) == differences


def test_order_does_not_matter_where_entries_have_names() -> None:
    """Sets and maps of entries are equal in any order."""
    left = {"spec": {"tags": ["a", "b"], "items": [{"name": "i"}, {"name": "j"}]}}
    right = {"spec": {"tags": ["b", "a"], "items": [{"name": "j"}, {"name": "i"}]}}
    assert compare(left, right, _TYPE).same


def test_fields_of_an_object() -> None:
    """Leaves, entries with themselves, empty objects."""
    fields = field_set(
        thing(a=1, inner={"deep": {}}, tags=["x"], items=[{"name": "i", "v": "1"}]), type_of_resource(THINGS)
    )
    assert fields["f:spec"] == {
        "f:a": {},
        "f:inner": {"f:deep": {}},
        "f:tags": {'v:"x"': {}},
        "f:items": {'k:{"name":"i"}': {".": {}, "f:name": {}, "f:v": {}}},
    }


def test_what_the_schema_does_not_know_is_an_error() -> None:
    """An undeclared member has no type, a nameless entry no place."""
    with pytest.raises(ElementError, match="field not declared in schema"):
        field_set({"spec": {"nosuch": 1}}, _TYPE)
    with pytest.raises(ElementError):
        compare({"spec": {"items": [{}]}}, {"spec": {"items": []}}, _TYPE)


_CHECKED_TYPE = compile_type(SCHEMA)


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"a": 1, "b": "x", "flag": True, "tags": ["a"], "ios": "50%", "free": {"x": [1]}}, []),
        ({"a": None}, []),
        ({"nosuch": 1}, [".spec.nosuch: field not declared in schema"]),
        ({"a": "1"}, [".spec.a: expected numeric (int or float), got string"]),
        ({"a": True}, [".spec.a: expected numeric (int or float), got bool"]),
        ({"b": 1}, [".spec.b: expected string, got &value.valueUnstructured{Value:1}"]),
        ({"flag": "yes"}, [".spec.flag: expected boolean, got &{yes}"]),
        ({"inner": []}, [".spec.inner: expected map, got &{[]}"]),
        ({"tags": {}}, [".spec.tags: expected list, got &{map[]}"]),
        ({"tags": ["a", "a"]}, ['.spec.tags: duplicate entries for key [="a"]']),
        (
            {"items": [{"name": "i", "w": "x"}, {"name": "j", "w": "y"}]},
            [
                '.spec.items[name="i"].w: expected numeric (int or float), got string',
                '.spec.items[name="j"].w: expected numeric (int or float), got string',
            ],
        ),
    ],
)
def test_what_does_not_fit_is_located(spec: dict[str, Any], problems: list[str]) -> None:
    """Paths and texts as the real server's typed conversion has them; a nameless field ends the search."""
    assert violations({"spec": spec}, _CHECKED_TYPE) == problems


def test_an_entry_without_its_key() -> None:
    """It is told by its index, for it has no name."""
    (problem,) = violations({"spec": {"items": [{"v": "1"}]}}, _CHECKED_TYPE)
    assert problem.startswith(".spec.items: element 0: ")
