"""
Objects by key, with any number of indexes over them.

Follows: client-go tools/cache/thread_safe_store.go @32ce75a7d. Differs: an object on which an index function
fails is stored all the same and only absent from that index, where upstream panics after storing it; apply
returns the objects that were replaced, so that nobody has to look them up first.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

import structlog

from handloop.informers.keys import CacheError, DeletedFinalStateUnknown
from handloop.informers.store.store_index import Indexers, IndexFunc, StoreIndex, union_keys
from handloop.workqueue.locks import new_lock

log = structlog.get_logger("informers")

T = TypeVar("T")


class IndexNotFound(CacheError):  # noqa: N818 - as handloop.client.errors.NotFound
    """There is no index of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Index with name {name} does not exist")


class IndexerConflict(CacheError):  # noqa: N818 - as handloop.client.errors.Conflict
    """Indexers of these names exist; none was added."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"indexer conflict: {', '.join(names)}")


class OperationType(StrEnum):
    """What an operation does. Add and update are the same: the object is put in."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


_DELETE: Final = OperationType.DELETE  # a global is found faster than a member of an enum


StoreOperation: TypeAlias = tuple[OperationType, str, T | DeletedFinalStateUnknown[T]]
"""(type, key, object): a step of a transaction. The object of a DELETE is ignored."""


class ThreadSafeStore(Generic[T]):
    """
    A dict whose operations are atomic and whose indexes always fit it.

    The store logs an object on which an index function fails, once per index until the object fits or goes.

    State, guarded by _lock:
        _items     key -> object; an object is never changed after insertion.
        _indexes   name -> index; each equals its function over _items, but for those on which it fails.

    Threads: any. Returned lists are the caller's own; the objects in them are shared and immutable.
    """

    def __init__(self, indexers: Indexers[T] | None = None) -> None:
        self._lock = new_lock("ThreadSafeStore._lock", 50)
        self._items: dict[str, T] = {}
        self._indexes = {name: StoreIndex(function) for name, function in (indexers or {}).items()}

    def add(self, key: str, obj: T) -> None:
        """Put obj in under key, in the place of what was there."""
        with self._changing():
            self._put_locked(key, obj)

    def update(self, key: str, obj: T) -> None:
        """Put obj in under key, in the place of what was there."""
        self.add(key, obj)

    def delete(self, key: str) -> None:
        """Take out what is under key, if anything."""
        with self._changing():
            self._delete_locked(key)

    def get(self, key: str) -> T | None:
        """The object under key, or None."""
        with self._lock:
            return self._items.get(key)

    def list(self) -> builtins.list[T]:
        """All objects, in no particular order."""
        with self._lock:
            return list(self._items.values())

    def list_keys(self) -> builtins.list[str]:
        """All keys, in no particular order."""
        with self._lock:
            return list(self._items)

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    def replace(self, items: Mapping[str, T]) -> None:
        """Hold exactly items from here on."""
        with self._changing():
            for key in self._items.keys() - items.keys():
                self._delete_locked(key)
            for key, obj in items.items():
                self._put_locked(key, obj)

    def apply(self, operations: Sequence[StoreOperation[T]]) -> builtins.list[T | None]:
        """
        Apply operations in order under one hold of the lock.

        Returns: for each, the object that was under its key just before, or None.
        """
        with self._changing():
            return [
                self._delete_locked(key) if kind is _DELETE else self._put_locked(key, obj)  # type: ignore[arg-type] # no tombstone
                for kind, key, obj in operations
            ]

    def index(self, name: str, obj: T) -> builtins.list[T]:
        """
        The objects that share a value with obj under an index, each once.

        Raises: IndexNotFound; what the index function raises on obj.
        """
        with self._lock:
            index = self._index_locked(name)
            keys = union_keys(index, index.values(obj))
            return [self._items[key] for key in keys]

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        The objects with this value under an index.

        Raises: IndexNotFound.
        """
        with self._lock:
            return [self._items[key] for key in self._index_locked(name).keys(value)]

    def index_keys(self, name: str, value: str) -> builtins.list[str]:
        """
        The keys of the objects with this value under an index, sorted.

        Raises: IndexNotFound.
        """
        with self._lock:
            return sorted(self._index_locked(name).keys(value))

    def list_index_func_values(self, name: str) -> builtins.list[str]:
        """The values that occur under an index; none when there is no such index."""
        with self._lock:
            index = self._indexes.get(name)
            return index.all_values() if index else []

    def indexers(self) -> dict[str, IndexFunc[T]]:
        """The index functions by name."""
        with self._lock:
            return {name: index.index_func for name, index in self._indexes.items()}

    def unindexed(self) -> int:
        """How many entries the indexes lack, because an index function failed on a stored object."""
        with self._lock:
            return sum(index.failed for index in self._indexes.values())

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes and fill them from what is stored.

        Raises: IndexerConflict when a name is taken; nothing is added then.
        """
        with self._changing():
            if taken := sorted(set(self._indexes) & set(indexers)):
                raise IndexerConflict(taken)
            for name, function in indexers.items():
                index = self._indexes[name] = StoreIndex(function)
                for key, obj in self._items.items():
                    index.change(key, None, obj)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock for a change; then, without it, log one line per index that lacks objects."""
        with self._lock:
            yield
            failures = [(name, index.take_failures()) for name, index in self._indexes.items()]
        for name, failed in failures:
            if failed:
                key, error = failed[0]
                log.error(
                    "Index function failed: the object is in the cache, but not in this index",
                    index=name,
                    key=key,
                    err=repr(error),
                    othersLikeIt=len(failed) - 1,
                )

    def _put_locked(self, key: str, obj: T) -> T | None:
        old = self._items.get(key)
        for index in self._indexes.values():
            index.change(key, old, obj)
        self._items[key] = obj
        return old

    def _delete_locked(self, key: str) -> T | None:
        old = self._items.pop(key, None)
        if old is not None:
            for index in self._indexes.values():
                index.change(key, old, None)
        return old

    def _index_locked(self, name: str) -> StoreIndex[T]:
        index = self._indexes.get(name)
        if index is None:
            raise IndexNotFound(name)
        return index
