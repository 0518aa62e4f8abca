"""
Objects by key, with any number of indexes over them.

Follows: client-go tools/cache/thread_safe_store.go @32ce75a7d. Differs: an index function that fails raises
before anything is changed, where upstream panics after the object was stored; apply returns the objects that
were replaced, so that nobody has to look them up first.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

from handloop.informers.keys import CacheError, DeletedFinalStateUnknown
from handloop.informers.store.store_index import Indexers, IndexFunc, StoreIndex, union_keys
from handloop.workqueue.locks import new_lock

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
"""(type, key, object): a step of a transaction. The object of a DELETE only gives its resource version."""


class TransactionError(CacheError, Generic[T]):
    """
    Some operations of a transaction failed; the others were applied.

    errors maps positions in the request to what went wrong; previous is what apply would have returned.
    """

    def __init__(
        self, total: int, errors: Mapping[int, Exception], previous: builtins.list[T | None]
    ) -> None:
        causes = ", ".join(str(error) for error in errors.values())
        super().__init__(f"failed to execute ({len(errors)}/{total}) transactions failed due to: [{causes}]")
        self.total = total
        self.errors = dict(errors)
        self.previous = previous

    @property
    def successful_indices(self) -> builtins.list[int]:
        """The positions that were applied, ascending."""
        return [position for position in range(self.total) if position not in self.errors]


class ThreadSafeStore(Generic[T]):
    """
    A dict whose operations are atomic, whose indexes always fit it, and that knows how fresh it is.

    State, guarded by _lock:
        _items     key -> object; an object is never changed after insertion.
        _indexes   name -> index; each equals its function over _items.
        _resource_version    of the last object, list or bookmark given; not necessarily the highest.

    Threads: any. Returned lists are the caller's own; the objects in them are shared and immutable.
    """

    def __init__(self, indexers: Indexers[T] | None = None) -> None:
        self._lock = new_lock("ThreadSafeStore._lock", 50)
        self._items: dict[str, T] = {}
        self._indexes = {name: StoreIndex(name, function) for name, function in (indexers or {}).items()}
        self._resource_version = ""

    def add(self, key: str, obj: T) -> None:
        """
        Put obj in under key, in the place of what was there.

        Raises: IndexFuncError; nothing is changed then.
        """
        with self._lock:
            self._put_locked(key, obj)
            self._note_version_locked(obj)

    def update(self, key: str, obj: T) -> None:
        """
        Put obj in under key, in the place of what was there.

        Raises: IndexFuncError; nothing is changed then.
        """
        self.add(key, obj)

    def delete(self, key: str) -> None:
        """Take out what is under key, if anything; the resource version stays."""
        with self._lock:
            self._delete_locked(key)

    def delete_with_object(self, key: str, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """Take out what is under key, if anything; the resource version becomes that of obj, if any."""
        with self._lock:
            self._delete_locked(key)
            self._note_version_locked(obj)

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

    def replace(self, items: Mapping[str, T], resource_version: str) -> None:
        """
        Hold exactly items from here on, as of resource_version.

        Raises: IndexFuncError; nothing is changed then.
        """
        items = dict(items)
        with self._lock:
            self._indexes = {name: index.rebuild(items) for name, index in self._indexes.items()}
            self._items = items
            self._resource_version = resource_version

    def bookmark(self, resource_version: str) -> None:
        """Know that the contents are those of resource_version."""
        with self._lock:
            self._resource_version = resource_version

    def last_store_sync_resource_version(self) -> str:
        """The resource version the contents stand for; "" before anything came."""
        with self._lock:
            return self._resource_version

    def apply(self, operations: Sequence[StoreOperation[T]]) -> builtins.list[T | None]:
        """
        Apply operations in order under one hold of the lock; one that fails does not stop the others.

        Returns: for each, the object that was under its key just before, or None.
        Raises: TransactionError when any failed.
        """
        previous: builtins.list[T | None] = []
        errors: dict[int, Exception] = {}
        with self._lock:
            for kind, key, obj in operations:
                try:
                    if kind is _DELETE:
                        previous.append(self._delete_locked(key))
                    else:
                        previous.append(self._put_locked(key, obj))  # type: ignore[arg-type] # no tombstone here
                except CacheError as error:
                    errors[len(previous)] = error
                    previous.append(None)
            if operations:
                self._note_version_locked(operations[-1][2])
        if errors:
            raise TransactionError(len(operations), errors, previous)
        return previous

    def index(self, name: str, obj: T) -> builtins.list[T]:
        """
        The objects that share a value with obj under an index, each once.

        Raises: IndexNotFound; what the index function raises on obj.
        """
        with self._lock:
            index = self._index_locked(name)
            keys = union_keys(index, index.index_func(obj))
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

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes and fill them from what is stored.

        Raises: IndexerConflict when a name is taken, IndexFuncError; nothing is added then.
        """
        with self._lock:
            if taken := sorted(set(self._indexes) & set(indexers)):
                raise IndexerConflict(taken)
            self._indexes |= {
                name: StoreIndex(name, function).rebuild(self._items) for name, function in indexers.items()
            }

    def _put_locked(self, key: str, obj: T) -> T | None:
        """Every value is computed before any change: an index function that raises leaves all as it was."""
        old = self._items.get(key)
        moves: builtins.list[tuple[StoreIndex[T], Sequence[str], Sequence[str]]] = []
        for index in self._indexes.values():
            before = () if old is None else index.values(key, old)
            after = index.values(key, obj)
            if before != after:
                moves.append((index, before, after))
        for index, before, after in moves:
            index.move(key, before, after)
        self._items[key] = obj
        return old

    def _delete_locked(self, key: str) -> T | None:
        """As _put_locked: values first."""
        old = self._items.get(key)
        if old is not None:
            before = [(index, index.values(key, old)) for index in self._indexes.values()]
            for index, gone in before:
                index.remove(key, gone)
            del self._items[key]
        return old

    def _note_version_locked(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        try:  # noqa: SIM105 - on every write, and suppress() costs more than the rest
            self._resource_version = obj.metadata.resource_version  # type: ignore[union-attr]
        except AttributeError:
            pass  # a tombstone, or an object without metadata: nothing is known of the version

    def _index_locked(self, name: str) -> StoreIndex[T]:
        index = self._indexes.get(name)
        if index is None:
            raise IndexNotFound(name)
        return index
