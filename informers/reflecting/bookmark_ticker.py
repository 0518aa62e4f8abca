"""
Warns while a streamed list waits for the bookmark that ends it.

The thread that reads the stream sits in the read, so another one looks at the clock: the informer's loop.
Follows: client-go tools/cache/reflector.go @32ce75a7d (initialEventsEndBookmarkTicker).
"""

from __future__ import annotations

from typing import Final

import structlog

from handloop.workqueue.clock import Clock
from handloop.workqueue.locks import new_lock

log = structlog.get_logger("informers")

TICK_SECONDS: Final = 10.0


class BookmarkTicker:
    """
    Says every tick_seconds that the bookmark is missing, unless events came meanwhile.

    State, under _lock, all as Clock.now() counts: _began_at, None while no list is streamed; _heard_at = the
        last event, None before the first; _due_at = the next look.
    Threads: the reflector's calls begin, heard and end; any other tick.
    """

    def __init__(self, name: str, *, tick_seconds: float = TICK_SECONDS, clock: Clock) -> None:
        self._name = name
        self._tick_seconds = tick_seconds
        self._clock = clock
        self._lock = new_lock("BookmarkTicker._lock", 96)
        self._began_at: float | None = None
        self._heard_at: float | None = None
        self._due_at = 0.0

    def begin(self) -> None:
        """A list is asked for, as a stream."""
        with self._lock:
            self._began_at, self._heard_at = self._clock.now(), None
            self._due_at = self._began_at + self._tick_seconds

    def heard(self) -> None:
        """Something came that was not the bookmark."""
        with self._lock:
            self._heard_at = self._clock.now()

    def end(self) -> None:
        """The list is complete, or given up."""
        with self._lock:
            self._began_at = None

    def tick(self) -> None:
        """Warn if it is time to; to be called at least as often."""
        warning = self._warning()
        if warning:
            log.warning("Event bookmark expired", reflector=self._name, err=warning)

    def _warning(self) -> str:
        with self._lock:
            now = self._clock.now()
            if self._began_at is None or now < self._due_at:
                return ""
            self._due_at = now + self._tick_seconds
            if self._heard_at is None:
                silent = now - self._began_at
                return f"awaiting the bookmark that ends the list, no events received for {silent:.0f}s"
            silent = now - self._heard_at
            if silent < self._tick_seconds:
                return ""
            return f"awaiting the bookmark that ends the list, received last event {silent:.0f}s ago"
