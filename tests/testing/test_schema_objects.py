"""Objects of a schema."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema

from handloop.testing.schema_objects import fields_schema, objects_of, overlaid, unknown_fields

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "enum": ["a", "b"]},
                "size": {"type": "integer", "minimum": 1, "maximum": 1000},
                "on": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
                "limits": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "inner": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
            },
        },
    },
}


def _objects(seed: int = 1) -> list[dict[str, Any]]:
    return list(objects_of(fields_schema(SCHEMA), Random(seed), 20))


def test_every_value_of_every_field_is_there_alone() -> None:
    """The least object is first; each of the others that follow differs from it in one place."""
    found = _objects()
    assert found == _objects()
    assert found[0] == {"spec": {"name": "a"}}
    for other in (
        {"name": "b"},
        {"name": "a", "size": 1000},
        {"name": "a", "size": 1},
        {"name": "a", "on": False},
        {"name": "a", "on": True},
        {"name": "a", "tags": ["x", "y"]},
        {"name": "a", "tags": ["y", "x"]},
        {"name": "a", "limits": {"b": True}},
        {"name": "a", "inner": {"deep": True}},
    ):
        assert {"spec": other} in found


def test_all_fit_the_schema() -> None:
    """Those by chance, too, which are not the same for another seed."""
    judge = jsonschema.Draft4Validator(SCHEMA)
    for one in _objects():
        judge.validate(one)
    assert _objects(1) != _objects(2)


def test_fields_without_a_known_value_are_named() -> None:
    """For those, somebody has to give one."""
    odd = {"type": "string", "minLength": 200, "pattern": "^a+$"}
    schema = {"properties": {"spec": {"properties": {"a": {"type": "boolean"}, "b": odd}}, "c": odd}}
    assert list(unknown_fields(schema, Random(1))) == ["spec.b", "c"]


def test_one_object_over_another() -> None:
    """Fields that the upper one does not have stay."""
    assert overlaid({"a": {"b": 1, "c": [1]}}, {"a": {"c": [2]}}) == {"a": {"b": 1, "c": [2]}}
    assert overlaid(None, {"a": 1}) == {"a": 1}
