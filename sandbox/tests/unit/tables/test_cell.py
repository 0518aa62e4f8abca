from __future__ import annotations

import pytest

from handloop_sandbox.tables import cell


def test_a_selector_that_selects_nothing_is_absent() -> None:
    """As kubectl shows it."""
    assert (cell.selector_cell({}), cell.selector_cell({"matchLabels": {"a": "1"}})) == ("<none>", "a=1")


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
    """Names, deletion and conditions."""
    obj = {"metadata": {"name": "a", "deletionTimestamp": "x"}}
    assert (cell.name_of(obj), cell.is_deleting(obj), cell.is_deleting({})) == ("a", True, False)
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
