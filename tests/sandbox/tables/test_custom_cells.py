from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handloop.sandbox.tables.custom_cells import custom_cells, custom_columns
from support.thing import THINGS

_NOW = 1_700_000_060.0
_STAMP = "2023-11-14T22:13:20Z"


def _cell(kind: str, value: Any, path: str = ".spec.x") -> Any:
    resource = replace(THINGS, printer_columns=({"name": "X", "type": kind, "jsonPath": path},))
    return custom_cells(resource, {"metadata": {"name": "a"}, "spec": {"x": value}}, _NOW)[1]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("string", "a", "a"),
        ("string", 5, "5"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("string", {"b": "<", "a": [1]}, '{"a":[1],"b":"\\u003c"}'),
        ("integer", 5, 5),
        ("integer", 5.7, 5),
        ("integer", "5", None),
        ("integer", True, None),
        ("number", 1.5, 1.5),
        ("number", 2.0, 2),
        ("boolean", False, False),
        ("boolean", "false", None),
        ("date", _STAMP, "60s"),
        ("date", "soon", "<invalid>"),
        ("date", 5, None),
        ("integer", None, None),
    ],
)
def test_a_column_shows_values_of_its_type(kind: str, value: Any, shown: Any) -> None:
    """Another type is null; only a string column shows anything as text."""
    assert _cell(kind, value) == shown


def test_what_a_path_does_not_find_is_null() -> None:
    """Missing members, and paths that do not parse."""
    assert _cell("string", 1, ".spec.y") is None
    assert _cell("string", 1, ".spec[") is None


def test_without_columns_there_is_the_age() -> None:
    """Name and Age, described like those of built-in kinds."""
    columns = custom_columns(THINGS)
    assert [(column.name, column.type, column.priority) for column in columns] == [
        ("Name", "string", 0),
        ("Age", "date", 0),
    ]
    assert columns[1].description.startswith("CreationTimestamp is a timestamp")
    obj = {"metadata": {"name": "a", "creationTimestamp": _STAMP}}
    assert custom_cells(THINGS, obj, _NOW) == ["a", "60s"]


def test_declared_columns_keep_what_was_declared() -> None:
    """Format, priority and description; without a description the path is named."""
    declared = (
        {
            "name": "A",
            "type": "integer",
            "jsonPath": ".a",
            "format": "int32",
            "priority": 1,
            "description": "d",
        },
        {"name": "B", "type": "string", "jsonPath": ".b"},
    )
    _, first, second = custom_columns(replace(THINGS, printer_columns=declared))
    assert (first.name, first.type, first.format, first.priority, first.description) == (
        "A",
        "integer",
        "int32",
        1,
        "d",
    )
    assert second.description == "Custom resource definition column (in JSONPath format): .b"
