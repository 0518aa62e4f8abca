"""The keys that a controller has to look at, and when."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

AT_ONCE = 8  # the most keys per controller step; it is low because requests are answered between steps


class DirtyKeys(Generic[K]):
    """
    Keys to look at, each at the earliest time requested for it.

    State: _due holds the time of each key. The heap may also hold superseded entries, which are skipped when
    their time comes.
    """

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._due)

    def mark(self, key: K, at: float) -> None:
        """Look at key at that unix time, unless it is already marked for an earlier one."""
        known = self._due.get(key)
        if known is None or at < known:
            self._put(key, at)

    def move(self, key: K, at: float) -> None:
        """Look at key at that unix time, even if it is already marked for another one."""
        self._put(key, at)

    def drop(self, key: K) -> None:
        """Do not look at key."""
        self._due.pop(key, None)

    def take(self, now: float) -> list[K]:
        """
        Remove and return the keys that are due, most overdue first.

        Keys with the same time are in the order in which they were marked.

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
        """Return the time at which the next key is due, or None if there is none."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _put(self, key: K, at: float) -> None:
        self._due[key] = at
        heapq.heappush(self._heap, (at, next(self._order), key))
