"""The table in which every guard stores names: those that have to wait, and those that it watches."""

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
    A value for each of the last 10,000 names.

    Threads: any. While a worker has a name, no other thread changes the name's value.
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
        """Remove and return the value of a name; None if there is none."""
        with self._lock:
            return self._values.pop(name, None)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """See NameMemory."""
        with self._lock:
            names = tuple(self._values)
        # Call gone without the lock, because it may take a lock of its own.
        leaving = [name for name in names if gone(name)]
        with self._lock:
            for name in leaving:
                self._values.pop(name, None)
