from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.patches.merge_type import ElementError, compile_type
from handloop_sandbox.patches.typed_value import compare, field_set, violations
from support.builders.thing import SCHEMA

_TYPE = compile_type(SCHEMA)


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
