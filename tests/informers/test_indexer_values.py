from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from handloop.informers.indexer import StoreIndex


def words(obj: str) -> Sequence[str]:
    return obj.split()


def index_of(*objects: tuple[str, str]) -> StoreIndex[str]:
    """An index of keys and objects; an object is its values, parted by spaces."""
    index = StoreIndex(words)
    for key, obj in objects:
        index.change(key, None, obj)
    return index


@pytest.mark.parametrize(
    ("old", "new"),
    [("", "a"), ("a", ""), ("a", "b"), ("a b", "b c"), ("a", "a b"), ("a b", "a"), ("a", "a"), ("a a", "a")],
)
def test_change_leaves_exactly_the_new_values(old: str, new: str) -> None:
    """Whatever the values were, the key is under the new ones and no others."""
    index = index_of(("other", "b"), ("1", old))
    index.change("1", old, new)
    assert {value for value in index.all_values() if "1" in index.keys(value)} == set(new.split())
    assert "other" in index.keys("b")


def test_change_to_the_same_values_touches_nothing() -> None:
    """The usual update of an object leaves its index alone: who holds the set of keys sees no change."""
    index = index_of(("1", "a"))
    keys = index.keys("a")
    index.change("1", "a", "a")
    assert index.keys("a") is keys


# -- a function that fails


def fussy(obj: str) -> Sequence[str]:
    if obj == "bad":
        raise ArithmeticError("no value")
    return obj.split()


def state(index: StoreIndex[str]) -> dict[str, set[str]]:
    return {value: set(index.keys(value)) for value in index.all_values()}


def test_object_on_which_the_function_fails_is_under_no_value() -> None:
    """Not under its former ones either; it is told of once, and counted until it fits or goes."""
    index = StoreIndex(fussy)
    index.change("1", None, "a")
    index.change("2", None, "a b")
    index.change("1", "a", "bad")
    assert state(index) == {"a": {"2"}, "b": {"2"}}
    assert [(key, repr(error)) for key, error in index.take_failures()] == [
        ("1", "ArithmeticError('no value')")
    ]
    index.change("1", "bad", "bad")
    assert (index.failed, index.take_failures()) == (1, [])
    index.change("1", "bad", "b")
    assert (index.failed, state(index)) == (0, {"a": {"2"}, "b": {"1", "2"}})
    index.change("1", "b", "bad")
    assert len(index.take_failures()) == 1
    index.change("1", "bad", None)
    assert (index.failed, state(index)) == (0, {"a": {"2"}, "b": {"2"}})


@pytest.mark.parametrize("new", ["c", "bad", None])
def test_function_that_begins_to_fail_leaves_no_entry_behind(new: str | None) -> None:
    """A function that is not pure: what the former state was under is found all the same."""
    fails = False

    def fickle(obj: str) -> Sequence[str]:
        if fails and obj != "c":
            raise ArithmeticError("no value")
        return obj.split()

    index = StoreIndex(fickle)
    index.change("1", None, "a b")
    index.change("2", None, "b")
    fails = True
    index.change("1", "a b", new)
    assert state(index) == {"b": {"2"}} | ({"c": {"1"}} if new == "c" else {})


def test_function_is_not_asked_again_about_an_object_on_which_it_failed() -> None:
    """That object is under no value, so there is nothing to look for, in however many values."""
    asked: list[str] = []

    def note(obj: str) -> Sequence[str]:
        asked.append(obj)
        return fussy(obj)

    index = StoreIndex(note)
    index.change("1", None, "bad")
    index.change("1", "bad", "a")
    assert asked == ["bad", "a"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("owner", "it returned a string, not a sequence of them"),
        (None, "'NoneType' object is not iterable"),
        ([["a"]], "unhashable type: 'list'"),
    ],
    ids=["a string", "nothing", "lists"],
)
def test_function_that_returns_no_strings_fails(answer: Any, error: str) -> None:
    """The letters of a string would become values, and other answers would break the store's change."""
    index: StoreIndex[str] = StoreIndex(lambda _: answer)
    index.change("1", None, "a")
    ((key, failure),) = index.take_failures()
    assert (key, str(failure), type(failure)) == ("1", error, TypeError)
    assert (index.failed, index.all_values()) == (1, [])


def test_any_iterable_will_do() -> None:
    """A generator is read once."""
    index = StoreIndex[str](lambda obj: (letter for letter in obj))  # type: ignore[arg-type, return-value] # the point
    index.change("1", None, "ab")
    assert state(index) == {"a": {"1"}, "b": {"1"}}
