from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.custom.schema_default_rules import default_causes

_TEXT = {"type": "string"}


def _said(node: dict[str, Any]) -> list[tuple[str, str]]:
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
    assert _said(node) == []


@pytest.mark.parametrize(
    ("node", "where", "text"),
    [
        (
            {"type": "string", "default": 5},
            "",
            'Invalid value: "integer":  in body must be of type string: "integer"',
        ),
        (
            {"type": "integer", "default": 5, "maximum": 3},
            "",
            "Invalid value: 5:  in body should be less than or equal to 3",
        ),
        (
            {"type": "object", "default": {"y": 5}, "properties": {"y": _TEXT}},
            ".y",
            'Invalid value: "integer": y in body must be of type string: "integer"',
        ),
        ({"type": "object", "default": {"z": 1}}, "", 'Invalid value: {"z":1}: must not have unknown fields'),
        (
            {"type": "string", "default": "long", "x-kubernetes-validations": [{"rule": "size(self) < 3"}]},
            "",
            'Invalid value: "long": failed rule: size(self) < 3',
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}, "default": {"x": "y"}},
            ".x",
            'Invalid value: "string": .x in body must be of type integer: "string"',
        ),
    ],
)
def test_defaults_that_do_not(node: dict[str, Any], where: str, text: str) -> None:
    """The schema says what is wrong with its default, and where."""
    assert _said(node) == [(f"s.properties[x].default{where}", text)]


def test_the_metadata_has_no_default() -> None:
    """It is the server's."""
    schema = {"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}}
    (cause,) = default_causes("s", schema)
    assert cause.message == "Forbidden: must not be set in top-level metadata"
