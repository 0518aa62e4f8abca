from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom.correlation import ABSENT, is_unchanged, member

_ENTRY = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}}
_MAP = {
    "type": "array",
    "items": _ENTRY,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}


@pytest.mark.parametrize(
    ("schema", "old", "new", "same"),
    [
        ({"type": "number"}, 1, 1.0, False),
        ({"type": "boolean"}, True, 1, False),
        (_ENTRY, {"name": "a", "n": 1}, {"n": 1, "name": "a"}, True),
        (_ENTRY, {"name": "a"}, {"name": "a", "n": 1}, False),
        (_ENTRY, {"name": "a", "free": 1}, {"name": "a", "free": 1}, False),
        ({"type": "array", "items": _ENTRY}, [{"n": 1}, {"n": 2}], [{"n": 2}, {"n": 1}], False),
        (_MAP, [{"name": "a"}, {"name": "b", "n": 1}], [{"name": "b", "n": 1}, {"name": "a"}], True),
        (_MAP, [{"name": "a"}, {"name": "b"}], [{"name": "a"}, {"name": "a"}], True),
        (_MAP, [{"name": "a"}], [{"name": "a"}, {"name": "b"}], False),
        (_MAP, [{"name": "a"}], None, False),
        ({"type": "object"}, ABSENT, {}, False),
    ],
)
def test_what_has_not_changed(schema: dict[str, Any], old: Any, new: Any, same: bool) -> None:
    """Types count, the order of a map's elements does not, and undeclared members are never the same."""
    assert is_unchanged(schema, new, old) is same


def test_a_member_without_a_former_value() -> None:
    """Null is a value."""
    assert member({"a": None}, "a") is None
    assert (member({}, "a"), member("text", "a")) == (ABSENT, ABSENT)
