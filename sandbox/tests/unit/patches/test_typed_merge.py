from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.patches.merge_type import ElementError, compile_type
from handloop_sandbox.patches.typed_merge import merge
from support.builders.thing import SCHEMA

_TYPE = compile_type(SCHEMA)


def _merged(live: dict[str, Any], applied: dict[str, Any]) -> Any:
    return merge({"spec": live}, {"spec": applied}, _TYPE)["spec"]


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ({"a": 1, "b": "x"}, {"a": 2}, {"a": 2, "b": "x"}),
        ({"inner": {"x": 1, "y": "p"}}, {"inner": {"x": 2}}, {"inner": {"x": 2, "y": "p"}}),
        ({"atom": {"x": 1, "y": "p"}}, {"atom": {"x": 2}}, {"atom": {"x": 2}}),
        ({"plain": ["a"]}, {"plain": ["b"]}, {"plain": ["b"]}),
        ({"tags": ["a", "b"]}, {"tags": ["c"]}, {"tags": ["a", "b", "c"]}),
        ({"tags": ["a", "b", "c"]}, {"tags": ["c", "a"]}, {"tags": ["b", "c", "a"]}),
        (
            {"items": [{"name": "i", "v": "1"}, {"name": "j"}]},
            {"items": [{"name": "k"}, {"name": "i", "w": 1}]},
            {"items": [{"name": "k"}, {"name": "i", "v": "1", "w": 1}, {"name": "j"}]},
        ),
    ],
)
def test_applied_values_win_and_entries_find_their_place(
    live: dict[str, Any], applied: dict[str, Any], merged: dict[str, Any]
) -> None:
    """Entries that are not applied stay; shared ones move only as far as the applied order demands."""
    assert _merged(live, applied) == merged


def test_duplicates_cannot_be_applied() -> None:
    """Two entries of one name have no meaning."""
    with pytest.raises(ElementError, match="duplicate entries for key"):
        _merged({}, {"tags": ["a", "a"]})
