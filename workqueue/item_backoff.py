"""
A back-off per id, measured against the time of the event that caused the try.

Follows: client-go util/flowcontrol/backoff.go.
"""

from __future__ import annotations

import random as _random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock

_RANK: Final = 90

HasExpired = Callable[[float, float, float], bool]
"""Whether an entry is too old to count: (event_at, updated_at, max_seconds) -> bool."""


def expired_after_twice_the_maximum(event_at: float, updated_at: float, max_seconds: float) -> bool:
    """The usual rule: an id that was quiet for more than twice the maximum starts over."""
    return event_at - updated_at > 2 * max_seconds


@dataclass(slots=True)
class _Entry:
    backoff_seconds: float
    updated_at: float


class ItemBackoff:
    """
    Doubles the delay of an id with each try, up to a maximum; an id that has expired starts over.

    State: `_entries` by id; an id that was never tried, was reset or collected has none.
    Threads: any; all under one lock, under which has_expired runs too.
    """

    def __init__(
        self,
        initial_seconds: float,
        max_seconds: float,
        *,
        max_jitter: float = 0.0,
        has_expired: HasExpired = expired_after_twice_the_maximum,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self._max_jitter = max_jitter
        self._has_expired = has_expired
        self._clock = clock
        self._random = random
        self._lock = new_lock("ItemBackoff._lock", _RANK)
        self._entries: dict[str, _Entry] = {}

    def get(self, item_id: str) -> float:
        """The delay of item_id in seconds; 0 when it was never tried."""
        with self._lock:
            entry = self._entries.get(item_id)
            return 0.0 if entry is None else entry.backoff_seconds

    def next(self, item_id: str, event_at: float) -> None:
        """
        Move item_id to its next delay.

        Args: event_at as `Clock.now()` counts.
        """
        with self._lock:
            entry = self._live_locked(item_id, event_at)
            delay = self._initial_seconds if entry is None else 2 * entry.backoff_seconds
            delay += self._jitter(delay if entry is None else entry.backoff_seconds)
            if entry is not None:
                delay = min(delay, self._max_seconds)
            self._entries[item_id] = _Entry(delay, self._clock.now())

    def reset(self, item_id: str) -> None:
        """Forget item_id."""
        with self._lock:
            self._entries.pop(item_id, None)

    def is_in_backoff_since(self, item_id: str, event_at: float) -> bool:
        """Whether less than the delay of item_id has passed between event_at and now."""
        with self._lock:
            entry = self._live_locked(item_id, event_at)
            return entry is not None and self._clock.now() - event_at < entry.backoff_seconds

    def is_in_backoff_since_update(self, item_id: str, event_at: float) -> bool:
        """Whether less than the delay of item_id has passed between its last try and event_at."""
        with self._lock:
            entry = self._live_locked(item_id, event_at)
            return entry is not None and event_at - entry.updated_at < entry.backoff_seconds

    def gc(self) -> None:
        """Drop what has expired; nothing else does, so call it from time to time."""
        with self._lock:
            now = self._clock.now()
            expired = [
                item_id
                for item_id, entry in self._entries.items()
                if self._has_expired(now, entry.updated_at, self._max_seconds)
            ]
            for item_id in expired:
                del self._entries[item_id]

    def _live_locked(self, item_id: str, event_at: float) -> _Entry | None:
        entry = self._entries.get(item_id)
        if entry is None or self._has_expired(event_at, entry.updated_at, self._max_seconds):
            return None
        return entry

    def _jitter(self, seconds: float) -> float:
        return self._random() * self._max_jitter * seconds
