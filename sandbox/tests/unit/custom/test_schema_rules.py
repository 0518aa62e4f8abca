"""Schemas of definitions. The scenes "schemas" and "expressions" have what a real server makes of others."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom.schema_rules import default_causes, schema_causes

_SPEC = "s.properties[x]"


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


def test_items_without_a_type() -> None:
    """The place and the real server's words."""
    message = "Required value: must not be empty for specified array items"
    assert (f"{_SPEC}.items.type", message) in _said({"type": "array", "items": {}})


def test_the_root_is_an_object() -> None:
    """Of no other type, and with members that are named."""
    said = [(cause.field, cause.message) for cause in schema_causes("s", {"type": "string"})]
    assert ("s.type", 'Invalid value: "string": must be object at the root') in said
    said = _said({"type": "string"}, additionalProperties={"type": "string"})
    assert ("s.additionalProperties", "Forbidden: must not be used at the root") in said


def test_everything_is_reported_at_once() -> None:
    """In the order of the fields."""
    node = {"type": "object", "properties": {"b": {}, "a": {"type": "array"}}}
    assert [field for field, _ in _said(node)] == [
        f"{_SPEC}.properties[a].items",
        f"{_SPEC}.properties[b].type",
    ]


_TEXT = {"type": "string"}


def _said_of_default(node: dict[str, Any]) -> list[tuple[str, str]]:
    schema = {"type": "object", "properties": {"x": node}}
    return [(cause.field, cause.message) for cause in default_causes("s", schema)]


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "default": "a"},
        {"x-kubernetes-int-or-string": True, "default": True},
        {"type": "object", "default": {"a": "b"}, "additionalProperties": _TEXT},
        {"type": "array", "items": {"type": "object", "properties": {"a": {**_TEXT, "default": "b"}}}},
    ],
)
def test_defaults_that_fit(node: dict[str, Any]) -> None:
    """A default is a value of its schema, wherever it is."""
    assert _said_of_default(node) == []
