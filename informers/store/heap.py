"""
A priority queue of objects with keys: putting an object in again moves it.

Follows: client-go tools/cache/heap.go.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from handloop.informers.keys import CacheError, KeyFunc, StoreKeyError
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_condition

T = TypeVar("T")


class HeapClosed(CacheError):  # noqa: N818 - a state, as queue.ShutDown
    """The heap takes nothing more, and when it is empty gives nothing more."""

    def __init__(self) -> None:
        super().__init__("heap is closed")


class ObjectNotFound(CacheError):  # noqa: N818 - as handloop.client.errors.NotFound
    """There is no object of this key in the heap."""

    def __init__(self) -> None:
        super().__init__("object not found")


class _Entry(Generic[T]):
    """An object in the order of the heap."""

    __slots__ = ("key", "less", "obj")

    def __init__(self, key: str, obj: T, less: Callable[[T, T], bool]) -> None:
        self.key = key
        self.obj = obj
        self.less = less

    def __lt__(self, other: _Entry[T]) -> bool:
        return self.less(self.obj, other.obj)


class Heap(Generic[T]):
    """
    Gives its least object first.

    State, guarded by _lock:
        _live      key -> its entry.
        _heap      heap of entries; one that is not in _live was moved or deleted, and is skipped. At most
                   about half of them are such.
        _closed    never cleared.
    """

    def __init__(self, key_func: KeyFunc, less: Callable[[T, T], bool], *, clock: Clock = REAL_CLOCK) -> None:
        self._lock = new_condition("Heap._lock", 95)
        self._live: dict[str, _Entry[T]] = {}
        self._heap: list[_Entry[T]] = []
        self._closed = False
        self._key_func = key_func
        self._less = less
        self._clock = clock

    def add(self, *objects: T) -> None:
        """
        Put objects in, or in their new places: all or none.

        Raises: StoreKeyError, HeapClosed.
        """
        entries = [_Entry(self._key(obj), obj, self._less) for obj in objects]
        with self._lock:
            if self._closed:
                raise HeapClosed
            for entry in entries:
                self._live[entry.key] = entry
                heappush(self._heap, entry)
            self._tidy_locked()
            self._lock.notify_all()

    def update(self, *objects: T) -> None:
        """
        Put objects in, or in their new places: all or none.

        Raises: StoreKeyError, HeapClosed.
        """
        self.add(*objects)

    def delete(self, obj: T) -> None:
        """
        Take out what has the key of obj.

        Raises: StoreKeyError, ObjectNotFound.
        """
        key = self._key(obj)
        with self._lock:
            if self._live.pop(key, None) is None:
                raise ObjectNotFound
            self._tidy_locked()

    def pop(self) -> T:
        """
        Take out the least object.

        Blocks: until there is one or close() is called.
        Raises: HeapClosed once closed and empty.
        """
        with self._lock:
            while not self._live:
                if self._closed:
                    raise HeapClosed
                self._clock.wait(self._lock, None)
            while True:
                entry = heappop(self._heap)
                if self._live.get(entry.key) is entry:
                    del self._live[entry.key]
                    return entry.obj

    def get_by_key(self, key: str) -> T | None:
        """The object of this key, or None."""
        with self._lock:
            entry = self._live.get(key)
            return None if entry is None else entry.obj

    def list(self) -> list[T]:
        """All objects, in no particular order."""
        with self._lock:
            return [entry.obj for entry in self._live.values()]

    def list_keys(self) -> builtins.list[str]:
        """All keys, in no particular order."""
        with self._lock:
            return list(self._live)

    def close(self) -> None:
        """Take nothing more; pops go on until the heap is empty."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    def _key(self, obj: T) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise StoreKeyError(obj, error) from error

    def _tidy_locked(self) -> None:
        if len(self._heap) > 2 * len(self._live) + 1:
            self._heap = list(self._live.values())
            heapify(self._heap)
