"""
The cache of an informer: objects by the key their metadata gives, with indexes.

Follows: client-go tools/cache (store.go, index.go).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

import structlog

from handloop.apis.meta import Object
from handloop.informers.keys import (
    CacheError,
    DeletedFinalStateUnknown,
    KeyFunc,
    NoMetaError,
    StoreKeyError,
    deletion_handling_meta_namespace_key_func,
)
from handloop.informers.store_index import Indexers, IndexFunc, StoreIndex, union_keys
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


NAMESPACE_INDEX: Final = "namespace"


class TransformError(CacheError):
    """The transformer failed on an object; nothing was stored."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"transforming: {cause}")
        self.cause = cause


class IndexKeyError(CacheError):
    """An index function used as a key function gave no value, or several."""


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


Operation: TypeAlias = tuple[OperationType, T | DeletedFinalStateUnknown[T]]
"""(type, object): a step of a transaction. The object of a DELETE may be a tombstone."""


def namespace_index_func(obj: Object) -> Sequence[str]:
    """
    The object's namespace; "" for a cluster-scoped one.

    Raises: NoMetaError.
    """
    try:
        return (obj.metadata.namespace,)
    except AttributeError as error:
        raise NoMetaError(obj) from error


def index_func_to_key_func_adapter(index_func: IndexFunc[T]) -> Callable[[T], str]:
    """
    A key function that gives the one value of an index function.

    Raises: IndexKeyError, when called on an object with no value or several.
    """

    def key_func(obj: T) -> str:
        values = index_func(obj)
        if len(values) > 1:
            raise IndexKeyError(f"too many keys: {list(values)}")
        if not values:
            raise IndexKeyError("unexpected empty indexKeys")
        return values[0]

    return key_func


class Indexer(Generic[T]):
    """
    A store of objects by key: every write is atomic, every index fits the contents at any time.

    Threads: any may read; in an informer its loop alone writes. Returned lists are the caller's own, in no
    particular order; the objects in them are shared and immutable.
    """

    def __init__(
        self,
        *,
        key_func: KeyFunc = deletion_handling_meta_namespace_key_func,
        indexers: Indexers[T] | None = None,
        transformer: Callable[[T], T] | None = None,
    ) -> None:
        """
        Make an empty store.

        Args: transformer makes what is stored of what is given; the key is that of the given object.
        """
        self._store = ThreadSafeStore(indexers)
        self._key_func = key_func
        self._transformer = transformer

    def add(self, obj: T) -> None:
        """
        Put obj in, in the place of what had its key.

        Raises: StoreKeyError, TransformError; nothing is changed then.
        """
        key = self._key(obj)
        self._store.add(key, self._transformed(obj))

    def update(self, obj: T) -> None:
        """
        Put obj in, in the place of what had its key.

        Raises: as add.
        """
        self.add(obj)

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Take out what has the key of obj, if anything.

        Raises: StoreKeyError.
        """
        self._store.delete(self._key(obj))

    def get(self, obj: T) -> T | None:
        """
        The stored object with the key of obj, or None.

        Raises: StoreKeyError.
        """
        return self._store.get(self._key(obj))

    def get_by_key(self, key: str) -> T | None:
        """The stored object with this key, or None."""
        return self._store.get(key)

    def list(self) -> builtins.list[T]:
        """All objects."""
        return self._store.list()

    def list_keys(self) -> builtins.list[str]:
        """All keys."""
        return self._store.list_keys()

    def __len__(self) -> int:
        return len(self._store)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:  # noqa: ARG002 - a store's signature
        """
        Hold exactly objects from here on; the last of several with one key counts.

        Raises: StoreKeyError, TransformError; nothing is changed then.
        """
        items = {self._key(obj): self._transformed(obj) for obj in objects}
        self._store.replace(items)

    def apply(self, operations: Sequence[Operation[T]]) -> builtins.list[T | None]:
        """
        Apply operations in order under one hold of the lock; one that fails does not stop the others.

        Returns: for each, the object that had its key just before, or None: what a handler calls `old`.
        Raises: TransactionError when any failed; it says which, and carries what would have been returned.
        """
        keyed, errors = self._keyed(operations)
        if not errors:
            return self._store.apply(keyed)
        raise self._apply_some(keyed, errors, len(operations))

    def index(self, name: str, obj: T) -> builtins.list[T]:
        """
        The objects that share a value with obj under an index, each once.

        Raises: IndexNotFound; what the index function raises on obj.
        """
        return self._store.index(name, obj)

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        The objects with this value under an index.

        Raises: IndexNotFound.
        """
        return self._store.by_index(name, value)

    def index_keys(self, name: str, value: str) -> builtins.list[str]:
        """
        The keys of the objects with this value under an index, sorted.

        Raises: IndexNotFound.
        """
        return self._store.index_keys(name, value)

    def list_index_func_values(self, name: str) -> builtins.list[str]:
        """The values that occur under an index; none when there is no such index."""
        return self._store.list_index_func_values(name)

    def indexers(self) -> dict[str, IndexFunc[T]]:
        """The index functions by name."""
        return self._store.indexers()

    def unindexed(self) -> int:
        """How many entries the indexes lack, because an index function failed on a stored object."""
        return self._store.unindexed()

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes and fill them from what is stored.

        Raises: IndexerConflict when a name is taken; nothing is added then.
        """
        self._store.add_indexers(indexers)

    def _key(self, obj: T | DeletedFinalStateUnknown[T]) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise StoreKeyError(obj, error) from error

    def _transformed(self, obj: T) -> T:
        if self._transformer is None:
            return obj
        try:
            return self._transformer(obj)
        except Exception as error:
            raise TransformError(error) from error

    def _keyed(
        self, operations: Sequence[Operation[T]]
    ) -> tuple[builtins.list[StoreOperation[T]], dict[int, Exception]]:
        """The operations that have a key, with it, and by position what is wrong with the others."""
        if self._transformer is None:
            with suppress(
                Exception
            ):  # the usual case at half the price; below says which one failed, and how
                return [(kind, self._key_func(obj), obj) for kind, obj in operations], {}
        keyed: builtins.list[StoreOperation[T]] = []
        errors: dict[int, Exception] = {}
        for position, (kind, obj) in enumerate(operations):
            try:
                keyed.append(self._keyed_one(kind, obj))
            except CacheError as error:
                errors[position] = error
        return keyed, errors

    def _keyed_one(self, kind: OperationType, obj: T | DeletedFinalStateUnknown[T]) -> StoreOperation[T]:
        key = self._key(obj)
        if kind is not OperationType.DELETE:
            obj = self._transformed(obj)  # type: ignore[arg-type] # only a DELETE carries a tombstone
        return kind, key, obj

    def _apply_some(
        self, keyed: builtins.list[StoreOperation[T]], errors: dict[int, Exception], total: int
    ) -> TransactionError[T]:
        """Apply what has a key; positions in the result are those of the whole request."""
        positions = [position for position in range(total) if position not in errors]
        applied = self._store.apply(keyed)
        previous: builtins.list[T | None] = [None] * total
        for position, old in zip(positions, applied, strict=True):
            previous[position] = old
        return TransactionError(total, errors, previous)
