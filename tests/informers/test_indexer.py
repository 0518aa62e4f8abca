"""
The store of an informer. Its indexes are in test_indexer_indexes.py.

STO-06 and STO-27 have no subject here: objects are transformed before they are stored, and no key comes from
an index function.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.indexer import (
    NAMESPACE_INDEX,
    Change,
    Indexer,
    TransactionError,
    namespace_index_func,
)
from handloop.informers.keys import DeletedFinalStateUnknown, NoMetaError, StoreKeyError
from support.deployments import deployment, names
from support.plain_items import Item, item_key

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


def new_store() -> Indexer[Item]:
    return Indexer(key_func=item_key)


def test_store_operations() -> None:
    """STO-05: the last value wins, a missing key is no error. Follows TestCache."""
    store = new_store()
    store.add(Item("foo", 1))
    store.add(Item("foo", 2))
    store.update(Item("bar", 3))
    assert store.get(Item("foo")) == Item("foo", 2)
    assert store.get_by_key("bar") == Item("bar", 3)
    assert store.get_by_key("baz") is None
    assert sorted(store.list()) == [Item("bar", 3), Item("foo", 2)]
    assert sorted(store.list_keys()) == ["bar", "foo"]
    assert len(store) == 2
    assert repr(store) == "<Indexer: 2 objects, indexes ->"
    store.delete(Item("foo"))
    store.delete(Item("never there"))
    assert store.list() == [Item("bar", 3)]
    store.replace([Item("a", 1), Item("b", 2), Item("a", 3)], "1")
    assert sorted(store.list()) == [Item("a", 3), Item("b", 2)]


@pytest.mark.parametrize("method", ["add", "update", "delete", "get"])
def test_an_object_without_a_key_is_refused(method: str) -> None:
    """Every operation that needs the key says that there is none, and why."""
    with pytest.raises(
        StoreKeyError, match=r"^couldn't create key for object Item\(key='bad', value=0\): bad key$"
    ):
        getattr(new_store(), method)(Item("bad"))


def test_a_replace_with_a_key_error_changes_nothing() -> None:
    """All keys are computed before anything is stored."""
    store = new_store()
    store.replace([Item("old")], "1")
    with pytest.raises(StoreKeyError):
        store.replace([Item("new"), Item("bad")], "2")
    assert store.list() == [Item("old")]


def test_a_tombstone_deletes_by_its_key() -> None:
    """The default key function knows tombstones; the resource version stays, since theirs is unknown."""
    store: Indexer[Deployment] = Indexer()
    store.add(deployment("a", 5))
    store.delete(DeletedFinalStateUnknown("default/a", deployment("a", 3)))
    assert store.list() == []


def users(obj: Deployment) -> Sequence[str]:
    return obj.metadata.labels.get("users", "").split(",")


def with_users(name: str, text: str) -> Deployment:
    return deployment(name, labels={"users": text})


def foo_label(obj: Deployment) -> Sequence[str]:
    return [obj.metadata.labels["foo"]]


def test_index_values_by_label() -> None:
    """STO-07: the values that occur. Follows TestGetIndexFuncValues."""
    store: Indexer[Deployment] = Indexer(indexers={"testmodes": foo_label})
    for name, value in (("one", "bar"), ("two", "bar"), ("tre", "biz")):
        store.add(deployment(name, labels={"foo": value}))
    assert sorted(store.list_index_func_values("testmodes")) == ["bar", "biz"]


def test_index_with_several_values_per_object() -> None:
    """STO-08, STO-09: each value has exactly its objects, after changes too. Follows TestMultiIndexKeys."""
    store: Indexer[Deployment] = Indexer(indexers={"byUser": users})
    one, two, tre = (
        with_users("one", "ernie,bert"),
        with_users("two", "bert,oscar"),
        with_users("tre", "ernie,elmo"),
    )
    for obj in (one, two, tre):
        store.add(obj)

    def by_user(user: str) -> list[str]:
        return names(store.by_index("byUser", user))

    found = {user: by_user(user) for user in ("ernie", "bert", "elmo", "oscar", "elmo1")}
    assert found == {
        "ernie": ["one", "tre"],
        "bert": ["one", "two"],
        "elmo": ["tre"],
        "oscar": ["two"],
        "elmo1": [],
    }
    assert names(store.index("byUser", tre)) == ["one", "tre"]
    assert names(store.index("byUser", with_users("new", "ernie,bert"))) == ["one", "tre", "two"]
    assert store.index_keys("byUser", "ernie") == ["default/one", "default/tre"]
    store.delete(tre)
    assert (by_user("ernie"), by_user("elmo")) == (["one"], [])
    store.update(with_users("two", "oscar"))
    assert by_user("bert") == ["one"]


def test_transaction_with_bad_objects() -> None:
    """
    STO-15: objects without a key are named by their place, the others applied, with what each found.

    Follows TestCacheTransactionShouldIndexErrors, as the next two.
    """
    store = new_store()
    store.add(Item("b", 2))
    with pytest.raises(TransactionError) as raised:
        store.apply([(ADDED, Item("a")), (ADDED, Item("bad")), (UPDATED, Item("b", 4)), (ADDED, Item("bad"))])
    assert {position: type(error) for position, error in raised.value.errors.items()} == {
        1: StoreKeyError,
        3: StoreKeyError,
    }
    assert raised.value.previous == [None, None, Item("b", 2), None]
    assert str(raised.value).startswith(
        "failed to execute (2/4) transactions failed due to: [couldn't create key"
    )
    assert sorted(store.list()) == [Item("a"), Item("b", 4)]


def test_transaction_of_bad_objects_only() -> None:
    """STO-15: nothing is applied."""
    store = new_store()
    with pytest.raises(TransactionError, match=r"\(1/1\)") as raised:
        store.apply([(ADDED, Item("bad"))])
    assert sorted(raised.value.errors) == [0]
    assert len(store) == 0


def test_transaction_without_errors() -> None:
    """STO-15: no error, and what each operation found."""
    store = new_store()
    changes: list[Change[Item]] = [
        (ADDED, Item("a", 1)),
        (UPDATED, Item("a", 2)),
        (DELETED, DeletedFinalStateUnknown("a", None)),
    ]
    tolerant: Indexer[Item] = Indexer(key_func=lambda obj: obj.key)
    assert tolerant.apply(changes) == [None, Item("a", 1), Item("a", 2)]
    assert tolerant.list() == []
    assert store.apply([]) == []


@pytest.mark.parametrize("namespace", ["default", ""])
def test_namespace_index(namespace: str) -> None:
    """Objects by namespace; cluster-scoped ones under ""."""
    store: Indexer[Deployment] = Indexer(indexers={NAMESPACE_INDEX: namespace_index_func})
    store.add(deployment("a", namespace=namespace))
    store.add(deployment("b", namespace="other"))
    assert names(store.by_index(NAMESPACE_INDEX, namespace)) == ["a"]


def test_namespace_index_needs_metadata() -> None:
    """The error of the key functions."""
    with pytest.raises(NoMetaError, match=r"^object has no meta: "):
        namespace_index_func("no object")  # type: ignore[arg-type] # the point
