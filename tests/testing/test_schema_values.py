"""Values that a schema allows."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema
import pytest

from handloop.testing.schema_values import other_values

TEXT = {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}
NUMBER = {"type": "integer", "minimum": 1, "maximum": 100}
STRUCT = {"type": "object", "properties": {"name": TEXT, "count": NUMBER}, "required": ["name"]}
MAP_LIST = {"type": "array", "items": STRUCT, "x-kubernetes-list-map-keys": ["name"], "minItems": 1}


@pytest.mark.parametrize(
    "schema",
    [
        TEXT,
        {"type": "string", "pattern": r"^xyzzy-[0-9]{3}(\.(\w|[^a-z])+)?$"},
        NUMBER,
        STRUCT,
        MAP_LIST,
        {"type": "boolean"},
        {"type": "number", "exclusiveMinimum": True, "minimum": 3},
        {"type": "integer", "multipleOf": 5, "maximum": 5},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "object", "additionalProperties": NUMBER},
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 1},
    ],
)
def test_values_fit_their_schema(schema: dict[str, Any]) -> None:
    """There are always others than the present one."""
    judge = jsonschema.Draft4Validator(schema)
    found = other_values(schema, None, Random(3))
    assert found
    for value in found:
        judge.validate(value)
        assert value not in other_values(schema, value, Random(3))


def test_bounds_are_among_them_but_not_by_the_million() -> None:
    """The least number, and few more than that: for some the cluster makes pods."""
    assert other_values(NUMBER, 2, Random(1)) == [1, 3, 11]
    assert other_values({**NUMBER, "maximum": 4}, 2, Random(1)) == [1, 3, 4]


def test_entries_of_a_map_differ_in_their_keys() -> None:
    """At most two."""
    lists = [one for seed in range(9) for one in other_values(MAP_LIST, None, Random(seed))]
    assert all(len({entry["name"] for entry in one}) == len(one) for one in lists)
    assert {len(one) for one in lists} == {1, 2}


def test_where_nothing_is_known_there_is_no_value() -> None:
    """Such a field is left out, or as it is."""
    odd = {"type": "string", "pattern": "^(?=a)b$"}
    assert other_values(odd, None, Random(1)) == []
    assert other_values({"type": "object", "properties": {"a": odd}}, None, Random(1)) == [{}, {}]
    assert (
        other_values({"type": "object", "properties": {"a": odd}, "required": ["a"]}, None, Random(1)) == []
    )
