from __future__ import annotations

from collections.abc import Sequence

import pytest

from handloop.informers.store.store_index import IndexFuncError, StoreIndex, union_keys


def words(obj: str) -> Sequence[str]:
    return obj.split()


def new_index() -> StoreIndex[str]:
    return StoreIndex("words", words)


def test_keys_under_a_value() -> None:
    """A key is found under each of its values, and nowhere else."""
    index = new_index()
    index.insert("1", ["a", "b"])
    index.insert("2", ["b"])
    assert index.keys("a") == {"1"}
    assert index.keys("b") == {"1", "2"}
    assert index.keys("c") == set()
    assert sorted(index.all_values()) == ["a", "b"]


def test_a_value_goes_with_its_last_key() -> None:
    """No empty set stays behind."""
    index = new_index()
    index.insert("1", ["a", "b"])
    index.remove("1", ["a"])
    assert index.all_values() == ["b"]


def test_removing_what_is_not_there_is_nothing() -> None:
    """Neither an unknown value nor an unknown key is an error."""
    index = new_index()
    index.insert("1", ["a"])
    index.remove("1", ["b"])
    index.remove("2", ["a"])
    assert index.keys("a") == {"1"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([], ["a"]),
        (["a"], []),
        (["a"], ["b"]),
        (["a", "b"], ["b", "c"]),
        (["a"], ["a", "b"]),
        (["a", "b"], ["a"]),
        (["a"], ["a"]),
        (["a", "a"], ["a"]),
    ],
)
def test_move_leaves_exactly_the_new_values(old: list[str], new: list[str]) -> None:
    """Whatever the values were, the key is under the new ones and no others."""
    index = new_index()
    index.insert("other", ["b"])
    index.insert("1", old)
    index.move("1", old, new)
    assert {value for value in index.all_values() if "1" in index.keys(value)} == set(new)
    assert "other" in index.keys("b")


def test_move_to_the_same_single_value_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual update of an object leaves its index alone."""
    index = new_index()
    index.insert("1", ["a"])
    changed: list[str] = []
    monkeypatch.setattr(index, "remove", lambda *_: changed.append("remove"))
    monkeypatch.setattr(index, "insert", lambda *_: changed.append("insert"))
    index.move("1", ["a"], ["a"])
    assert changed == []


def test_rebuild_is_a_new_index() -> None:
    """The rebuilt index fits the items; the old one is as before."""
    index = new_index()
    index.insert("1", ["a"])
    rebuilt = index.rebuild({"2": "b c"})
    assert sorted(rebuilt.all_values()) == ["b", "c"]
    assert index.all_values() == ["a"]


def explode(_obj: str) -> Sequence[str]:
    raise ArithmeticError("no value")


def test_a_failing_index_function_is_named() -> None:
    """The error carries key, index and cause, in client-go's words."""
    with pytest.raises(IndexFuncError) as raised:
        StoreIndex("broken", explode).values("ns/x", "")
    assert str(raised.value) == (
        'unable to calculate an index entry for key "ns/x" on index "broken": no value'
    )
    assert (raised.value.key, raised.value.index_name) == ("ns/x", "broken")
    assert isinstance(raised.value.cause, ArithmeticError)


def test_an_index_function_must_not_return_a_string() -> None:
    """A string is a sequence of strings too: its letters would become values."""
    with pytest.raises(IndexFuncError, match="it returned a string, not a sequence of them"):
        StoreIndex("owner", lambda obj: obj).values("ns/x", "some-owner")


def test_union_has_each_key_once() -> None:
    """Keys under several of the values are not repeated."""
    index = new_index()
    index.insert("1", ["a", "b"])
    index.insert("2", ["b"])
    assert union_keys(index, ["a", "b", "c"]) == {"1", "2"}
    assert union_keys(index, []) == set()
