"""
One reader of the event stream: a bounded queue, and the thread that empties it.

Follows: apimachinery pkg/watch/mux.go (broadcasterWatcher).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_condition
from handloop.workqueue.spawn import Spawn, spawn_thread

log = structlog.get_logger("events")

E = TypeVar("E")


class EventWatcher(Generic[E]):
    """
    Hands every event to one function, in the order offered, on a thread of its own.

    State, under _changed: _queue (at most `length` events); _closed (never goes back), after which nothing is
    added and the thread ends once the queue is empty.
    Threads: any thread offers; only `events-<name>` calls handle.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[E], None],
        *,
        length: int,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        self.name = name
        self._handle = handle
        self._length = length
        self._clock = clock
        self._changed = new_condition("EventWatcher._changed", 96)
        self._queue: deque[E] = deque()
        self._closed = False
        self._thread = spawn(f"events-{name}", self._run)

    def offer(self, event: E) -> bool:
        """
        Queue an event without waiting.

        Returns: False when the queue is full or closed: the event is lost to this watcher.
        """
        with self._changed:
            if self._closed or len(self._queue) >= self._length:
                return False
            self._queue.append(event)
            self._changed.notify()
            return True

    def close(self) -> None:
        """Take no more events; those queued are still handed over."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def discard(self) -> int:
        """Forget what is queued, so that the thread ends after the event in hand; returns how many events."""
        with self._changed:
            discarded = len(self._queue)
            self._queue.clear()
            return discarded

    def join(self, timeout_seconds: float) -> bool:
        """
        Wait for the thread of a closed watcher.

        Returns: whether it has ended.
        """
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def __len__(self) -> int:
        with self._changed:
            return len(self._queue)

    def _run(self) -> None:
        while (event := self._next()) is not None:
            try:
                self._handle(event)
            except Exception as error:  # noqa: BLE001 - one event must not end the recording of all others
                self._report(error)

    def _report(self, error: Exception) -> None:
        log.error("Event watcher failed", watcher=self.name, err=repr(error))

    def _next(self) -> E | None:
        """The oldest event; None once closed and empty. Blocks until there is either."""
        with self._changed:
            while not self._queue and not self._closed:
                self._clock.wait(self._changed, None)
            return self._queue.popleft() if self._queue else None
