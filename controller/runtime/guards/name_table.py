"""A table in which a guard stores one value per name, for example for each name that must wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from cachetools import LRUCache

from handloop.informers.keys import ObjectName
from handloop.seams.locks import new_lock

V = TypeVar("V")

REMEMBERED: Final = 10_000


class NameTable(Generic[V]):
    """
    Stores a value for each of the 10,000 most recently used names.

    Threads: any thread can use it. Only the worker that is working on a name changes the name's value.
    Locks: _lock is a leaf.
    """

    def __init__(self) -> None:
        self._lock = new_lock("NameTable._lock", 95)
        self._values: LRUCache[ObjectName, V] = LRUCache(REMEMBERED)

    def get(self, name: ObjectName) -> V | None:
        """Return the value of a name, or None."""
        with self._lock:
            return self._values.get(name)

    def put(self, name: ObjectName, value: V) -> None:
        """Remember a value."""
        with self._lock:
            self._values[name] = value

    def pop(self, name: ObjectName) -> V | None:
        """Remove and return the value of a name. Return None if the table has no value for it."""
        with self._lock:
            return self._values.pop(name, None)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """See NameMemory."""
        with self._lock:
            names = tuple(self._values)
        # Call gone outside the lock, because gone may take a lock of its own.
        leaving = [name for name in names if gone(name)]
        with self._lock:
            for name in leaving:
                self._values.pop(name, None)
