"""The keys that a controller has to sync, and when each is due."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

AT_ONCE = 8  # maximum of keys per step; low, because requests are answered only between steps


class DirtyKeys(Generic[K]):
    """
    Keys to sync, each with the time at which it is due.

    State: _due holds the time of each key. The heap may also hold outdated entries, which are skipped when
    they come to the top.
    """

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._due)

    def mark(self, key: K, at: float) -> None:
        """Make the key due at a unix time, unless it is due earlier already."""
        known = self._due.get(key)
        if known is None or at < known:
            self._put(key, at)

    def move(self, key: K, at: float) -> None:
        """Make the key due at a unix time, even if it is already due at another time."""
        self._put(key, at)

    def drop(self, key: K) -> None:
        """Forget the key."""
        self._due.pop(key, None)

    def take(self, now: float) -> list[K]:
        """
        Remove and return the keys that are due, earliest first.

        Keys with the same time are returned in the order in which they were marked.

        Returns: at most AT_ONCE keys. If more are due, next_wake() is in the past.
        """
        taken: list[K] = []
        while self._heap and self._heap[0][0] <= now and len(taken) < AT_ONCE:
            at, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == at:
                del self._due[key]
                taken.append(key)
        return taken

    def next_wake(self) -> float | None:
        """Return the time at which the next key is due, or None if no key is marked."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _put(self, key: K, at: float) -> None:
        self._due[key] = at
        heapq.heappush(self._heap, (at, next(self._order), key))
