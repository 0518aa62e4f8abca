from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.tables import cell

_TERMS: list[dict[str, Any]] = [
    {"key": "b", "operator": "In", "values": ["2", "1"]},
    {"key": "c", "operator": "NotIn", "values": ["3"]},
    {"key": "d", "operator": "Exists"},
    {"key": "e", "operator": "DoesNotExist"},
]


def test_part_never_fails() -> None:
    """A missing, empty or odd step is an empty object."""
    obj = {"a": {"b": {"c": 1}, "n": None, "s": "text"}}
    assert cell.part(obj, "a", "b") == {"c": 1}
    assert cell.part(obj, "a", "n", "x") == {}
    assert cell.part(obj, "z") == {}
    assert cell.part(obj, "a", "s") == {}


def test_texts_of_selectors() -> None:
    """Terms in the order of their keys, values sorted."""
    selector = {"matchLabels": {"a": "1"}, "matchExpressions": _TERMS[::-1]}
    assert cell.selector_text(selector) == "a=1,b in (1,2),c notin (3),d,!e"
    assert (cell.selector_text(None), cell.selector_cell({})) == ("", "<none>")


def test_texts_of_labels_and_containers() -> None:
    """Labels sorted by key; names and images in the order of the containers."""
    assert cell.labels_text({"b": "2", "a": "1"}) == "a=1,b=2"
    assert cell.labels_text({}) == "<none>"
    containers = [{"name": "x", "image": "i:1"}, {"name": "y", "image": "j:2"}]
    assert cell.containers_and_images({"containers": containers}) == ("x,y", "i:1,j:2")


@pytest.mark.parametrize(
    ("entries", "text"),
    [([], "none"), (["a"], "a"), (["a", "b", "c"], "a,b,c"), (["a", "b", "c", "d"], "a,b,c + 6 more...")],
)
def test_long_lists_are_cut(entries: list[str], text: str) -> None:
    """Three entries, and how many of the total are not shown."""
    assert cell.shortened(entries, 9, empty="none") == text


def test_small_questions() -> None:
    """Names, deletion, conditions and marks."""
    obj = {"metadata": {"name": "a", "deletionTimestamp": "x", "annotations": {"d": "true"}}}
    assert (cell.name_of(obj), cell.is_deleting(obj), cell.is_deleting({})) == ("a", True, False)
    assert (cell.default_mark(obj, "d"), cell.default_mark(obj, "e")) == (" (default)", "")
    conditions = [{"type": "A", "status": "False"}, {"type": "A", "status": "True"}]
    assert not cell.holds(conditions, "A")
    assert not cell.holds(None, "A")
    assert cell.holds(conditions[1:], "A")
    assert cell.unique(["b", "", "a", "b"]) == ["a", "b"]


def test_ages() -> None:
    """The age of an object, unknown without a time."""
    obj = {"metadata": {"creationTimestamp": "2023-11-14T22:13:20Z"}}
    assert cell.age_of(obj, 1_700_000_042.0) == "42s"
    assert cell.age_of({}, 0.0) == "<unknown>"
