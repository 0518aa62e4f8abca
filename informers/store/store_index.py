"""
One index of a store: which keys have an object with a given value.

Follows: client-go tools/cache/thread_safe_store.go (storeIndex).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeAlias, TypeVar

from handloop.informers.keys import CacheError

T = TypeVar("T")

IndexFunc: TypeAlias = Callable[[T], Sequence[str]]
"""
Object to its values under an index, none or several.

Pure: it is called again on the stored object to find the entries to remove. It runs under the store's lock.
"""
Indexers: TypeAlias = Mapping[str, IndexFunc[T]]
"""Index name to index function."""

_NOTHING: Final[frozenset[str]] = frozenset()


class IndexFuncError(CacheError):
    """An index function failed on an object; the store is as it was before. `cause` says why."""

    def __init__(self, key: str, index_name: str, cause: Exception) -> None:
        super().__init__(
            f'unable to calculate an index entry for key "{key}" on index "{index_name}": {cause}'
        )
        self.key = key
        self.index_name = index_name
        self.cause = cause


class StoreIndex(Generic[T]):
    """
    Index value -> keys, for one index function. Never an empty set: values come and go with their objects.

    Threads: none of its own; the store's lock guards it.
    """

    def __init__(self, name: str, index_func: IndexFunc[T]) -> None:
        self.index_func: Final = index_func
        self._name = name
        self._keys: dict[str, set[str]] = {}

    def values(self, key: str, obj: T) -> Sequence[str]:
        """
        The values of an object stored under key.

        Raises: IndexFuncError.
        """
        try:
            values = self.index_func(obj)
        except Exception as error:
            raise IndexFuncError(key, self._name, error) from error
        if values.__class__ is str:
            raise IndexFuncError(key, self._name, TypeError("it returned a string, not a sequence of them"))
        return values

    def insert(self, key: str, values: Sequence[str]) -> None:
        """Make key appear under values."""
        for value in values:
            keys = self._keys.get(value)
            if keys is None:
                self._keys[value] = {key}
            else:
                keys.add(key)

    def remove(self, key: str, values: Sequence[str]) -> None:
        """Make key no longer appear under values; a value without keys goes."""
        for value in values:
            keys = self._keys.get(value)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._keys[value]

    def move(self, key: str, old: Sequence[str], new: Sequence[str]) -> None:
        """Make key appear under the new values and no longer under the old ones."""
        if len(old) == 1 and len(new) == 1 and old[0] == new[0]:
            return
        if old:
            self.remove(key, old)
        self.insert(key, new)

    def rebuild(self, items: Mapping[str, T]) -> StoreIndex[T]:
        """
        A new index of the same function over items; this one stays as it is.

        Raises: IndexFuncError.
        """
        rebuilt = StoreIndex(self._name, self.index_func)
        for key, obj in items.items():
            rebuilt.insert(key, self.values(key, obj))
        return rebuilt

    def keys(self, value: str) -> AbstractSet[str]:
        """The keys under a value; valid until the index changes."""
        return self._keys.get(value, _NOTHING)

    def all_values(self) -> list[str]:
        """The values that at least one object has."""
        return list(self._keys)


def union_keys(index: StoreIndex[T], values: Iterable[str]) -> set[str]:
    """The keys under any of the values, each once."""
    return set[str]().union(*(index.keys(value) for value in values))
