"""
One stream of events, and any number of watchers that each see all of it.

Follows: apimachinery pkg/watch/mux.go, differs: those who publish feed the watchers directly, not through one
more queue and goroutine, so a full watcher is logged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from handloop.controller.runtime.events.watcher import EventWatcher
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock
from handloop.workqueue.spawn import Spawn, spawn_thread

E = TypeVar("E")

QUEUE_LENGTH: Final = 1000


class FanoutStatistics(NamedTuple):
    """Over all watchers: events waiting, and lost to full queues or a shutdown."""

    queued: int
    dropped: int


class EventFanout(Generic[E]):
    """
    Gives each event to every watcher that has room for it.

    State, under _lock: _watchers; _dropped; _closed (never goes back).
    Threads: any; each watcher has its own thread `events-<name>`.
    Locks: _lock is held while watchers take theirs, so all watchers see one order.
    """

    def __init__(
        self,
        *,
        queue_length: int = QUEUE_LENGTH,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        self._queue_length = queue_length
        self._clock = clock
        self._spawn = spawn
        self._lock = new_lock("EventFanout._lock", 95)
        self._watchers: list[EventWatcher[E]] = []
        self._dropped = 0
        self._closed = False

    def start_watcher(self, name: str, handle: Callable[[E], None]) -> EventWatcher[E]:
        """
        Call handle with every event from here on.

        Returns: the watcher; close() ends it alone. After shutdown() it is closed from the start.
        """
        watcher = EventWatcher(name, handle, length=self._queue_length, clock=self._clock, spawn=self._spawn)
        with self._lock:
            self._watchers.append(watcher)
            closed = self._closed
        if closed:
            watcher.close()
        return watcher

    def publish(self, event: E) -> str:
        """
        Give an event to every watcher that has room.

        Returns: why somebody missed it, in words; "" when nobody did.
        """
        with self._lock:
            if self._closed:
                self._dropped += 1
                return "broadcaster is shut down"
            full = [watcher.name for watcher in self._watchers if not watcher.offer(event)]
            self._dropped += len(full)
        return f"too many queued events for {', '.join(full)}" if full else ""

    def shutdown(self, timeout_seconds: float) -> bool:
        """
        Take no more events, let the watchers have what is queued, and end their threads. Idempotent.

        Returns: False when a thread was still busy with an event after the time, and the rest was dropped.
        Blocks: up to timeout_seconds.
        """
        with self._lock:
            self._closed = True
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher.close()
        deadline = self._clock.now() + timeout_seconds
        late = [w for w in watchers if not w.join(max(0.0, deadline - self._clock.now()))]
        discarded = sum(watcher.discard() for watcher in late)
        with self._lock:
            self._dropped += discarded
        return not late

    def statistics(self) -> FanoutStatistics:
        """A snapshot."""
        with self._lock:
            return FanoutStatistics(sum(len(watcher) for watcher in self._watchers), self._dropped)
