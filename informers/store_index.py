"""
One index of a store: which keys have an object with a given value.

Follows: client-go tools/cache/thread_safe_store.go (storeIndex).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")

IndexFunc: TypeAlias = Callable[[T], Sequence[str]]
"""
Object to its values under an index, none or several.

Pure: it is called again on the stored object to find the entries to remove. It runs under the store's lock.
"""
Indexers: TypeAlias = Mapping[str, IndexFunc[T]]
"""Index name to index function."""

_NOTHING: Final[frozenset[str]] = frozenset()


class StoreIndex(Generic[T]):
    """
    Index value -> keys, for one index function. Never an empty set: values come and go with their objects.

    The index counts an object on which the function fails, under no value, until another state of it fits or
    the object goes.

    State: _keys = value -> keys.
           _failed = the keys of the objects on which the function failed: they are under no value.
           _unreported = (key, error) of those that take_failures has not returned yet.
    Threads: none of its own; the store's lock guards it.
    """

    def __init__(self, index_func: IndexFunc[T]) -> None:
        self.index_func: Final = index_func
        self._keys: dict[str, set[str]] = {}
        self._failed: set[str] = set()
        self._unreported: list[tuple[str, Exception]] = []

    @property
    def failed(self) -> int:
        """How many stored objects are not in this index, because the function failed on them."""
        return len(self._failed)

    def values(self, obj: T) -> tuple[str, ...]:
        """
        The values of an object.

        Raises: whatever the function raises; TypeError when it returns no sequence of strings.
        """
        values = self.index_func(obj)
        if isinstance(values, str):  # a sequence of strings too: its letters would become values
            raise TypeError("it returned a string, not a sequence of them")
        values = tuple(values)
        hash(values)
        return values

    def change(self, key: str, old: T | None, new: T | None) -> None:
        """Index new under key in the place of old; None = no object."""
        before = () if old is None else self._values_before(key, old)
        after = () if new is None else self._values_after(key, new)
        if new is None:
            self._failed.discard(key)
        if before != after:
            self._remove(key, before)
            self._insert(key, after)

    def take_failures(self) -> list[tuple[str, Exception]]:
        """The key and error of each object on which the function has newly failed, once."""
        taken, self._unreported = self._unreported, []
        return taken

    def keys(self, value: str) -> AbstractSet[str]:
        """The keys under a value; valid until the index changes."""
        return self._keys.get(value, _NOTHING)

    def all_values(self) -> list[str]:
        """The values that at least one object has."""
        return list(self._keys)

    def _values_before(self, key: str, old: T) -> tuple[str, ...]:
        if key in self._failed:
            return ()
        try:
            return self.values(old)
        except Exception:  # noqa: BLE001 - the function is not pure: it did not fail when old came
            return tuple(value for value, keys in self._keys.items() if key in keys)

    def _values_after(self, key: str, new: T) -> tuple[str, ...]:
        try:
            values = self.values(new)
        except Exception as error:  # noqa: BLE001 - whatever it raises, the object is stored all the same
            if key not in self._failed:
                self._failed.add(key)
                self._unreported.append((key, error))
            return ()
        self._failed.discard(key)
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
