"""Structural schemas. The scene "schemas" has what a real server makes of others."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom.structural_rules import children, junctors, structural_causes

_NODE = "s.properties[x]"
_EITHER = [{"type": "integer"}, {"type": "string"}]


def _said(node: dict[str, Any]) -> list[tuple[str, str]]:
    schema = {"type": "object", "properties": {"x": node}}
    return [(cause.field, cause.message) for cause in structural_causes("s", schema)]


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "anyOf": [{"minLength": 1}], "not": {"enum": ["x"]}},
        {"x-kubernetes-int-or-string": True, "anyOf": _EITHER, "allOf": [{"pattern": "x"}]},
        {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": _EITHER}, {"pattern": "x"}]},
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"a": {"type": "string"}}},
    ],
)
def test_what_is_structural(node: dict[str, Any]) -> None:
    """Values in junctors; types there only for a number or a text."""
    assert _said(node) == []


@pytest.mark.parametrize(
    ("node", "where", "text"),
    [
        (
            {"type": "string", "allOf": [{"not": {"default": "x"}}]},
            ".allOf[0].not.default",
            "Forbidden: must be undefined to be structural",
        ),
        (
            {"type": "object", "oneOf": [{"properties": {"a": {"nullable": True}}}]},
            ".oneOf[0].properties[a].nullable",
            "Forbidden: must be false to be structural",
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            ".x-kubernetes-preserve-unknown-fields",
            "Invalid value: false: must be true or undefined",
        ),
    ],
)
def test_what_is_not(node: dict[str, Any], where: str, text: str) -> None:
    """Each problem is reported by its place."""
    assert _said(node) == [(f"{_NODE}{where}", text)]


def test_schemas_have_places() -> None:
    """The parts below a schema, and in its junctors."""
    schema = {"items": {}, "properties": {"b": {}, "a": {}}, "not": {}, "allOf": [{}]}
    assert [path for path, _, _ in children("s", schema)] == [
        "s.items",
        "s.properties[a]",
        "s.properties[b]",
    ]
    assert [path for path, _ in junctors("s", schema)] == ["s.allOf[0]", "s.not"]
