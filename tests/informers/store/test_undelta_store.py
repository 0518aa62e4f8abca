from __future__ import annotations

import pytest

from handloop.informers.keys import StoreKeyError
from handloop.informers.store.indexer import TransactionError
from handloop.informers.store.thread_safe_store import OperationType
from handloop.informers.store.undelta_store import UndeltaStore
from support.plain_items import Item, item_key


class Pushes:
    """Records what is pushed, each time sorted."""

    def __init__(self) -> None:
        self.lists: list[list[Item]] = []
        self.store: UndeltaStore[Item] = UndeltaStore(
            lambda items: self.lists.append(sorted(items)), key_func=item_key
        )


def test_every_write_pushes_everything_once() -> None:
    """STO-21: add, update, delete and replace push the full list. Follows TestUpdateCallsPush and others."""
    pushes = Pushes()
    pushes.store.add(Item("a", 1))
    pushes.store.add(Item("b", 2))
    pushes.store.update(Item("a", 3))
    pushes.store.delete(Item("b"))
    pushes.store.delete(Item("never there"))
    pushes.store.replace([Item("c", 4), Item("d", 5)], "1")
    assert pushes.lists == [
        [Item("a", 1)],
        [Item("a", 1), Item("b", 2)],
        [Item("a", 3), Item("b", 2)],
        [Item("a", 3)],
        [Item("a", 3)],
        [Item("c", 4), Item("d", 5)],
    ]


def test_reads_do_not_push() -> None:
    """STO-21: asking changes nothing, so there is nothing to hand on. Follows TestReadsDoNotCallPush."""
    pushes = Pushes()
    pushes.store.get(Item("a"))
    pushes.store.get_by_key("a")
    pushes.store.list()
    pushes.store.list_keys()
    assert pushes.lists == []


def test_a_failed_write_does_not_push() -> None:
    """Nothing has changed."""
    pushes = Pushes()
    for write in (pushes.store.add, pushes.store.update, pushes.store.delete):
        with pytest.raises(StoreKeyError):
            write(Item("bad"))
    with pytest.raises(StoreKeyError):
        pushes.store.replace([Item("bad")], "1")
    assert pushes.lists == []


def test_a_transaction_pushes_once() -> None:
    """Also when part of it failed: the rest has changed the store."""
    pushes = Pushes()
    pushes.store.apply([(OperationType.ADD, Item("a")), (OperationType.ADD, Item("b"))])
    with pytest.raises(TransactionError):
        pushes.store.apply([(OperationType.DELETE, Item("a")), (OperationType.ADD, Item("bad"))])
    assert pushes.lists == [[Item("a"), Item("b")], [Item("b")]]
