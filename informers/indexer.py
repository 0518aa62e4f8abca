"""
An informer's cache. It stores objects by a key made from their metadata, with any number of indexes.

Follows: client-go tools/cache (store.go, index.go, thread_safe_store.go) @32ce75a7d. Differs:
  * Indexer and ThreadSafeStore are one class, because no code here needs the store with explicit keys.
  * An object on which an index function fails is still stored, and is missing only from that index; upstream
    panics after storing it.
  * The indexes are updated before the object is stored, and the lock is not released in between; upstream
    stores the object first (updateLocked).
  * A transaction takes deltas and returns the objects that were replaced, so the informer does not have to
    look them up first.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeAlias, TypeVar

from handloop.apis.meta import Object
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.keys import (
    CacheError,
    DeletedFinalStateUnknown,
    KeyFunc,
    NoMetaError,
    StoreKeyError,
    deletion_handling_meta_namespace_key_func,
)
from handloop.seams.locks import Lock, new_lock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.step_trace import TRACE
from handloop.seams.threads import as_error

log = get_logger("informers")

T = TypeVar("T")

NAMESPACE_INDEX: Final = "namespace"

_NOTHING: Final[frozenset[str]] = frozenset()
_DELETED: Final = DeltaType.DELETED  # a global is looked up faster than an enum member

IndexFunc: TypeAlias = Callable[[T], Sequence[str]]
"""
Returns an object's values in an index: none, one or several.

The function must be pure. It is called under the store's lock, and again on the stored object, to find the
index entries to remove.
"""
Indexers: TypeAlias = Mapping[str, IndexFunc[T]]
"""Index name to index function."""
Change: TypeAlias = tuple[DeltaType, T | DeletedFinalStateUnknown[T]]
"""A step of a transaction, such as a Delta. Deleted removes the object; every other type stores it."""


class IndexNotFound(CacheError):  # noqa: N818 - like handloop.client.errors.NotFound
    """The store has no index with this name. The message lists the existing ones."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        there = ", ".join(known) or "none"
        super().__init__(f"Index with name {name} does not exist (known: {there}): add it with add_indexers")


class IndexerConflict(CacheError):  # noqa: N818 - like handloop.client.errors.Conflict
    """Indexers with these names already exist, so none of the new ones was added."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"indexer conflict: {', '.join(names)}")


class TransactionError(CacheError, Generic[T]):
    """
    Some changes of a transaction failed; the others were applied.

    errors maps the position of each failed change to its error. previous is what apply would have returned,
    with None for the failed changes.
    """

    def __init__(
        self, total: int, errors: Mapping[int, Exception], previous: builtins.list[T | None]
    ) -> None:
        causes = ", ".join(str(error) for error in errors.values())
        super().__init__(f"failed to execute ({len(errors)}/{total}) transactions failed due to: [{causes}]")
        self.errors = dict(errors)
        self.previous = previous


def namespace_index_func(obj: Object) -> Sequence[str]:
    """
    Return the object's namespace as its index value; "" for a cluster-scoped object.

    Raises: NoMetaError if the object has no metadata.
    """
    try:
        return (obj.metadata.namespace,)
    except AttributeError as error:
        raise NoMetaError(obj) from error


class StoreIndex(Generic[T]):
    """
    One index, which maps the values of its index function to keys. Values that no object has are removed.

    If the function fails on an object, the index counts the failure and stores no value for the object. This
    lasts until the object is deleted, or is replaced by one on which the function succeeds.

    State: _keys maps each value to keys. _failed maps the key of each object on which the function failed to
    the error; _keys does not contain that key. _unreported contains a pair of key and error for each failure
    that take_failures has not returned yet.
    Threads: a caller must hold the store's lock.
    """

    def __init__(self, index_func: IndexFunc[T]) -> None:
        self.index_func: Final = index_func
        self._keys: dict[str, set[str]] = {}
        self._failed: dict[str, Exception] = {}
        self._unreported: list[tuple[str, Exception]] = []

    @property
    def failed(self) -> int:
        """Return how many stored objects are missing from this index because the function failed on them."""
        return len(self._failed)

    def error(self, key: str) -> Exception | None:
        """Return the error that keeps a stored object out of this index, or None if the object is in it."""
        return self._failed.get(key)

    def values(self, obj: T) -> tuple[str, ...]:
        """
        Return an object's index values.

        Raises: any error from the function; TypeError if it does not return a sequence of strings.
        """
        values = self.index_func(obj)
        if isinstance(values, str):  # a string is a sequence too: its letters would become values
            raise TypeError("the index function returned a string, not a sequence of strings")
        values = tuple(values)
        hash(values)
        return values

    def change(self, key: str, old: T | None, new: T | None) -> None:
        """Replace the index entries of old under this key with those of new. None stands for no object."""
        if old is not None and new is not None and self._has_same_values(old, new):
            return
        before = () if old is None else self._values_before(key, old)
        after = self._values_after(key, new)
        if before != after:
            self._remove(key, before)
            self._insert(key, after)

    def take_failures(self) -> list[tuple[str, Exception]]:
        """Return the failures since the last call, as pairs of key and error."""
        taken, self._unreported = self._unreported, []
        return taken

    def keys(self, value: str) -> AbstractSet[str]:
        """Return the keys of the objects with this value. The result is valid until the index changes."""
        return self._keys.get(value, _NOTHING)

    def all_values(self) -> list[str]:
        """Return the values that at least one object has."""
        return list(self._keys)

    def _has_same_values(self, old: T, new: T) -> bool:
        """Return whether both objects have the same values. This check halves the cost of most updates."""
        if self._failed:
            return False
        try:
            return bool(self.index_func(old) == self.index_func(new))
        except BaseException:  # noqa: BLE001 - their values are then looked at one by one
            return False

    def _values_before(self, key: str, old: T) -> tuple[str, ...]:
        if key in self._failed:
            return ()
        try:
            return self.values(old)
        except BaseException:  # noqa: BLE001 - the function is not pure, as it did not fail earlier
            return tuple(value for value, keys in self._keys.items() if key in keys)

    def _values_after(self, key: str, new: T | None) -> tuple[str, ...]:
        try:
            values = () if new is None else self.values(new)
        except BaseException as error:  # noqa: BLE001 - whatever it raises, the object is stored
            if key not in self._failed:
                self._unreported.append((key, as_error(error)))
            # Store the error without its traceback, because the traceback's frames keep the object alive.
            self._failed[key] = as_error(error).with_traceback(None)
            return ()
        self._failed.pop(key, None)
        return values

    def _insert(self, key: str, values: Iterable[str]) -> None:
        for value in values:
            keys = self._keys.get(value)
            if keys is None:
                self._keys[value] = {key}
            else:
                keys.add(key)

    def _remove(self, key: str, values: Iterable[str]) -> None:
        for value in values:
            keys = self._keys.get(value)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._keys[value]


class _Change(Generic[T]):
    """
    A context manager that holds a store's lock during a change, and then logs index failures without it.

    One line is logged for each index on which the change failed. A class is used instead of @contextmanager,
    because every change enters it, and a generator would cost as much as changing one object.
    """

    def __init__(self, lock: Lock, indexes: Mapping[str, StoreIndex[T]]) -> None:
        self._lock = lock
        self._indexes = indexes

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        failures = {name: index.take_failures() for name, index in self._indexes.items()}
        self._lock.release()
        for name, failed in failures.items():
            if failed:
                key, error = failed[0]
                log.error(
                    "Index function failed: the object is in the cache, but not in this index",
                    index=name,
                    key=key,
                    err=in_words(error, repr),
                    othersLikeIt=len(failed) - 1,
                )


class Indexer(Generic[T]):
    """
    A store of objects by key. Every write is atomic, and updates the indexes together with the objects.

    If an index function fails on an object, the store logs the failure once per index, and again only if the
    function has succeeded in between.

    State, guarded by _lock (50):
        _items     key -> object; an object is never changed after insertion.
        _indexes   name -> index; it contains every object of _items on which its function does not fail.

    Threads: any thread can read; in an informer, only its loop writes. A returned list belongs to the caller
    and has no particular order; the objects in it are shared and immutable.
    """

    def __init__(self, *, indexers: Indexers[T] | None = None) -> None:
        """Create an empty store."""
        self._lock = new_lock("Indexer._lock", 50)
        self._items: dict[str, T] = {}
        self._indexes = {name: StoreIndex(function) for name, function in (indexers or {}).items()}
        self._change = _Change(self._lock, self._indexes)

    def __repr__(self) -> str:
        with self._lock:
            return f"<Indexer: {len(self._items)} objects, indexes {', '.join(self._indexes) or '-'}>"

    def add(self, obj: T) -> None:
        """
        Store an object. It replaces a stored object with the same key.

        Raises: StoreKeyError if the object has no key. The store is then unchanged.
        """
        key = self._key(obj)
        with self._change:
            self._put_locked(key, obj)

    update = add

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Remove the stored object that has the same key as obj, if there is one.

        Raises: StoreKeyError if obj has no key.
        """
        key = self._key(obj)
        with self._change:
            self._delete_locked(key)

    def get(self, obj: T) -> T | None:
        """
        Return the stored object that has the same key as obj, or None.

        Raises: StoreKeyError if obj has no key.
        """
        return self.get_by_key(self._key(obj))

    def get_by_key(self, key: str) -> T | None:
        """Return the stored object with this key, or None if the key is not stored."""
        with self._lock:
            return self._items.get(key)

    def list(self) -> builtins.list[T]:
        """Return all objects."""
        with self._lock:
            return list(self._items.values())

    def list_keys(self) -> builtins.list[str]:
        """Return all keys."""
        with self._lock:
            return list(self._items)

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    def __bool__(self) -> bool:
        """Return whether the store contains any object. This is a single read, without holding the lock."""
        return bool(self._items)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:  # noqa: ARG002 - a store's signature
        """
        Replace the contents with these objects. If several have the same key, the last one is stored.

        Raises: StoreKeyError if an object has no key. The store is then unchanged.
        """
        items = {self._key(obj): obj for obj in objects}
        with self._change:
            for key in self._items.keys() - items.keys():
                self._delete_locked(key)
            for key, obj in items.items():
                self._put_locked(key, obj)

    def apply(self, changes: Sequence[Change[T]]) -> builtins.list[T | None]:
        """
        Apply changes in order, as one atomic step. A change that fails does not stop the others.

        Returns: the object stored before each change, or None. Handlers receive it as `old`.
        Raises: TransactionError if a change failed, with the errors, and the results of the others.
        """
        keyed, errors = self._keyed(changes)
        with self._change:
            previous = [
                self._delete_locked(key) if kind is _DELETED else self._put_locked(key, obj)  # type: ignore[arg-type] # only a Deleted carries a tombstone
                for key, (kind, obj) in keyed
            ]
        if not errors:
            return previous
        applied = iter(previous)
        positions = range(len(changes))
        raise TransactionError(
            len(changes), errors, [None if position in errors else next(applied) for position in positions]
        )

    def index(self, name: str, obj: T) -> builtins.list[T]:
        """
        Return the objects that share at least one value with obj in an index, each object once.

        Raises: IndexNotFound if the index does not exist; any error from the index function.
        """
        with self._lock:
            index = self._index_locked(name)
            keys = set[str]().union(*(index.keys(value) for value in index.values(obj)))
            return [self._items[key] for key in keys]

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        Return the objects that have this value in an index.

        Raises: IndexNotFound if the index does not exist.
        """
        with self._lock:
            return [self._items[key] for key in self._index_locked(name).keys(value)]

    def list_index_func_values(self, name: str) -> builtins.list[str]:
        """Return the values that occur in an index, or an empty list if the index does not exist."""
        with self._lock:
            index = self._indexes.get(name)
            return index.all_values() if index else []

    def indexers(self) -> dict[str, IndexFunc[T]]:
        """Return the index functions by name."""
        with self._lock:
            return {name: index.index_func for name, index in self._indexes.items()}

    def unindexed(self) -> int:
        """Return how many index entries are missing because an index function failed on a stored object."""
        with self._lock:
            return sum(index.failed for index in self._indexes.values())

    def why_unindexed(self, key: str) -> str:
        """Return a text that names the indexes that lack this key's object, and why; "" if none lacks it."""
        with self._lock:
            errors = {name: error for name, index in self._indexes.items() if (error := index.error(key))}
        return "; ".join(f'index "{name}": {in_words(error, repr)}' for name, error in errors.items())

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes, and fill them from the stored objects.

        Raises: IndexerConflict if a name already exists. In that case, no index is added.
        """
        with self._change:
            if taken := sorted(set(self._indexes) & set(indexers)):
                raise IndexerConflict(taken)
            for name, function in indexers.items():
                index = self._indexes[name] = StoreIndex(function)
                for key, obj in self._items.items():
                    index.change(key, None, obj)

    def _key(self, obj: T | DeletedFinalStateUnknown[T]) -> str:
        try:
            return deletion_handling_meta_namespace_key_func(obj)  # type: ignore[arg-type] # a store's object
        except Exception as error:
            raise StoreKeyError(obj, error) from error

    def _keyed(
        self, changes: Sequence[Change[T]]
    ) -> tuple[builtins.list[tuple[str, Change[T]]], dict[int, Exception]]:
        """Return the changes that have a key, each with its key, and the errors of the others by position."""
        key_func: KeyFunc = deletion_handling_meta_namespace_key_func
        try:
            return [(key_func(change[1]), change) for change in changes], {}
        except Exception:  # noqa: BLE001, S110 - find out below which one failed, and how, at twice the cost
            pass
        keyed: builtins.list[tuple[str, Change[T]]] = []
        errors: dict[int, Exception] = {}
        for position, change in enumerate(changes):
            try:
                keyed.append((self._key(change[1]), change))
            except StoreKeyError as error:
                errors[position] = error
        return keyed, errors

    def _put_locked(self, key: str, obj: T) -> T | None:
        old = self._items.get(key)
        # (4) update index
        for index in self._indexes.values():
            index.change(key, old, obj)
        # (5) store
        self._items[key] = obj
        if TRACE.on:
            self._tell(key, obj, new=old is None, resync=old is obj)
        return old

    def _delete_locked(self, key: str) -> T | None:
        old = self._items.pop(key, None)
        if old is not None:
            for index in self._indexes.values():
                index.change(key, old, None)
            if TRACE.on:
                self._tell(key, old, deleted=True)
        return old

    def _tell(self, key: str, obj: T, **facts: bool) -> None:
        kind = type(obj).__name__
        version = getattr(getattr(obj, "metadata", None), "resource_version", "")
        TRACE.tell(4, kind, key, indexes=list(self._indexes), **facts)
        TRACE.tell(5, kind, key, objects=len(self._items), version=version, **facts)

    def _index_locked(self, name: str) -> StoreIndex[T]:
        index = self._indexes.get(name)
        if index is None:
            raise IndexNotFound(name, self._indexes)
        return index
