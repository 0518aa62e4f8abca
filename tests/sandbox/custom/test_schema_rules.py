from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.custom.schema_rules import schema_causes

_SPEC = "s.properties[x]"
_NO_DEFAULT = (
    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
)


def _said(node: dict[str, Any], **root: Any) -> list[tuple[str, str]]:
    schema = {"type": "object", "properties": {"x": node}, **root}
    return [(cause.field, cause.message) for cause in schema_causes("s", schema)]


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "default": "a"},
        {"type": "integer", "minimum": 0},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a"],
            "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
        },
        {"type": "object", "additionalProperties": {"type": "string"}},
    ],
)
def test_structural_schemas_are_fine(node: dict[str, Any]) -> None:
    """Types everywhere, lists with items, keys that are there."""
    assert _said(node) == []


@pytest.mark.parametrize(
    ("node", "field", "message"),
    [
        ({}, f"{_SPEC}.type", "Required value: must not be empty for specified object fields"),
        ({"type": "array"}, f"{_SPEC}.items", "Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            f"{_SPEC}.items.type",
            "Required value: must not be empty for specified array items",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"},
            f"{_SPEC}.x-kubernetes-list-map-keys",
            "Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
            },
            f"{_SPEC}.items.properties[a].default",
            f"Required value: {_NO_DEFAULT}",
        ),
    ],
)
def test_what_is_not_structural(node: dict[str, Any], field: str, message: str) -> None:
    """The place and the real server's words."""
    assert (field, message) in _said(node)


def test_the_root_is_an_object() -> None:
    """Of no other type, and with members that are named."""
    said = [(cause.field, cause.message) for cause in schema_causes("s", {"type": "string"})]
    assert ("s.type", 'Invalid value: "string": must be object at the root') in said
    said = _said({"type": "string"}, additionalProperties={"type": "string"})
    assert ("s.additionalProperties", "Forbidden: must not be used at the root") in said


@pytest.mark.parametrize(
    ("node", "wrong"),
    [
        ({"type": "string", "default": 5}, True),
        ({"type": "integer", "default": "5"}, True),
        ({"type": "integer", "default": 5}, False),
        ({"type": "boolean", "default": True}, False),
    ],
)
def test_defaults_fit_their_type(node: dict[str, Any], wrong: bool) -> None:
    """A default that the schema itself refuses is none."""
    assert bool(_said(node)) is wrong
    if wrong:
        assert _said(node)[0][0] == f"{_SPEC}.default"


def test_everything_is_told_at_once() -> None:
    """In the order of the fields."""
    node = {"type": "object", "properties": {"b": {}, "a": {"type": "array"}}}
    assert [field for field, _ in _said(node)] == [
        f"{_SPEC}.properties[a].items",
        f"{_SPEC}.properties[b].type",
    ]
