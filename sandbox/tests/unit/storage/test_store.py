from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.storage.store import FIRST_RESOURCE_VERSION, Store
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource

_KIND = GroupResource("", "configmaps")


def _object(name: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}", **metadata},
    }


def _put(store: Store, obj: Object) -> None:
    transaction = Transaction(store)
    transaction.put(_KIND, obj)
    store.commit(transaction.changes)


def _delete(store: Store, name: str) -> None:
    transaction = Transaction(store)
    transaction.delete(_KIND, "n", name)
    store.commit(transaction.changes)


def test_one_counter_for_every_collection(store: Store) -> None:
    """Each commit takes the next version; a change that does not follow is refused."""
    assert store.resource_version == FIRST_RESOURCE_VERSION
    _put(store, _object("a"))
    assert store.resource_version == FIRST_RESOURCE_VERSION + 1
    stale = Transaction(store)
    stale.put(_KIND, _object("b"))
    _put(store, _object("c"))
    with pytest.raises(ValueError, match="does not follow version"):
        store.commit(stale.changes)


def test_reading(store: Store) -> None:
    """Objects are found by name, in lists and counted; a missing one is None, a missing list empty."""
    _put(store, _object("b"))
    _put(store, _object("a"))
    assert [obj["metadata"]["name"] for obj in store.list(_KIND)] == ["a", "b"]
    assert store.list(_KIND, "elsewhere") == []
    assert store.count(_KIND) == 2
    found = store.get(_KIND, "n", "a")
    assert found is not None
    assert found["metadata"]["resourceVersion"] == str(FIRST_RESOURCE_VERSION + 2)
    assert store.get(_KIND, "n", "z") is None
    assert store.get(GroupResource("", "other"), "n", "a") is None


def test_objects_are_found_by_uid_and_by_owner(store: Store) -> None:
    """The indices follow every change of an object."""
    owner = [{"uid": "o1"}, {"uid": "o2"}]
    _put(store, _object("a", ownerReferences=owner))
    _put(store, _object("b", ownerReferences=owner[:1]))
    assert [obj["metadata"]["name"] for _, obj in store.by_owner("o1")] == ["a", "b"]
    _put(store, _object("a", ownerReferences=owner[1:]))
    assert [obj["metadata"]["name"] for _, obj in store.by_owner("o1")] == ["b"]
    assert [obj["metadata"]["name"] for _, obj in store.by_owner("o2")] == ["a"]
    by_uid = store.by_uid("uid-a")
    assert by_uid is not None
    assert by_uid[1]["metadata"]["name"] == "a"
    _delete(store, "a")
    assert store.by_uid("uid-a") is None
    assert store.by_owner("o2") == []


def test_compaction_only_goes_forward(store: Store) -> None:
    """Compacting forgets up to a version, at most the newest, and never takes that back."""
    _put(store, _object("a"))
    store.compact(10**9)
    assert store.compacted == store.resource_version
    store.compact(5)
    assert store.compacted == store.resource_version


def test_expiry_empties_histories(store: Store) -> None:
    """After expire() no reader can continue from an older version."""
    _put(store, _object("a"))
    store.expire()
    history = store.collection(_KIND).history
    assert history.floor == store.resource_version
    assert history.read(history.position_after(0)) == []


def test_redefinition_starts_a_new_history(store: Store) -> None:
    """redefine() replaces the history of one collection."""
    _put(store, _object("a"))
    before = store.collection(_KIND).history
    store.redefine(_KIND)
    assert store.collection(_KIND).history is not before
    assert store.count(_KIND) == 1


def test_a_rewind_takes_back_where_histories_start(store: Store) -> None:
    """Otherwise a watch from the version that it leads to would be Expired, until the versions catch up."""
    gone, other = GroupResource("", "gone"), GroupResource("", "other")
    store.collection(other)
    for name in "abcde":
        _put(store, _object(name))
    store.expire(other)
    store.redefine(gone)
    store.collection(gone)
    rv = FIRST_RESOURCE_VERSION + 2
    store.rewind(rv)
    new = GroupResource("", "new")
    assert [store.collection(each).history.floor for each in (gone, other, new)] == [rv, rv, rv]
    assert store.collection(_KIND).history.floor == FIRST_RESOURCE_VERSION
