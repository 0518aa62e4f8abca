from __future__ import annotations

import pytest

from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import ChangeType, Object
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource

_KIND = GroupResource("", "configmaps")


def _object(name: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n"},
        "data": data,
    }


def test_a_transaction_reads_its_own_writes(store: Store) -> None:
    """A put object is there and a deleted one is gone, for the transaction alone."""
    transaction = Transaction(store)
    transaction.put(_KIND, _object("a"))
    assert transaction.get(_KIND, "n", "a") is not None
    assert store.get(_KIND, "n", "a") is None
    transaction.delete(_KIND, "n", "a")
    assert transaction.get(_KIND, "n", "a") is None
    assert [change.type for change in transaction.changes] == [ChangeType.ADDED, ChangeType.DELETED]


def test_changes_carry_consecutive_versions(store: Store) -> None:
    """The versions are those that the store will commit under; the deletion has one of its own."""
    transaction = Transaction(store)
    first = transaction.put(_KIND, _object("a", x="1"))
    second = transaction.put(_KIND, _object("a", x="2"))
    last = transaction.delete(_KIND, "n", "a")
    start = store.resource_version
    assert [stored.rv for stored in (first, second, last)] == [start + 1, start + 2, start + 3]
    assert last.object["data"] == {"x": "2"}
    assert last.object["metadata"]["resourceVersion"] == str(start + 3)
    store.commit(transaction.changes)
    assert store.resource_version == start + 3


def test_nothing_is_changed_in_place() -> None:
    """The object handed in keeps what it had; the stored one is a copy with a version."""
    obj = _object("a")
    stored = Transaction(Store()).put(_KIND, obj)
    assert "resourceVersion" not in obj["metadata"]
    assert stored.object["metadata"]["resourceVersion"]


def test_a_dry_run_records_nothing(store: Store) -> None:
    """A dry run answers what would be, without a version of its own."""
    transaction = Transaction(store, dry_run=True)
    stored = transaction.put(_KIND, _object("a"))
    assert transaction.changes == []
    assert "resourceVersion" not in stored.object["metadata"]


def test_deleting_what_is_not_there_is_a_bug() -> None:
    """delete() wants an object."""
    with pytest.raises(KeyError, match="n/a"):
        Transaction(Store()).delete(_KIND, "n", "a")
