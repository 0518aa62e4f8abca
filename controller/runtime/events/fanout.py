"""
One stream of Events, and any number of watchers that each see all of it.

Follows: apimachinery pkg/watch/mux.go, differs: publishers feed the watchers directly, not through one more
queue and goroutine, so a full watcher is logged.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

import structlog

from handloop.workqueue.locks import new_condition, new_lock
from handloop.workqueue.seams import REAL_SEAMS, Seams

log = structlog.get_logger("events")

E = TypeVar("E")

QUEUE_LENGTH: Final = 1000


class EventWatcher(Generic[E]):
    """
    Hands every Event to one function, in the order offered, on a thread of its own.

    State, under _changed: _queue (at most `length` Events); _closed (never goes back), after which nothing is
    added and the thread ends once the queue is empty.
    Threads: any thread offers; only `events-<name>` calls handle.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[E], None],
        *,
        length: int,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        self.name = name
        self._handle = handle
        self._length = length
        self._clock = seams.clock
        self._changed = new_condition("EventWatcher._changed", 96)
        self._queue: deque[E] = deque()
        self._closed = False
        self._thread = seams.spawn(f"events-{name}", self._run)

    def offer(self, event: E) -> bool:
        """
        Queue an Event without waiting.

        Returns: False when the queue is full or closed: the Event is lost to this watcher.
        """
        with self._changed:
            if self._closed or len(self._queue) >= self._length:
                return False
            self._queue.append(event)
            self._changed.notify()
            return True

    def close(self) -> None:
        """Refuse further Events; queued Events are still handed over."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def discard(self) -> None:
        """Drop the queued Events, so that the thread ends after the Event in hand."""
        with self._changed:
            self._queue.clear()

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
            except Exception as error:  # noqa: BLE001 - one Event must not end the recording of all others
                log.error("Event watcher failed", watcher=self.name, err=repr(error))  # noqa: TRY400

    def _next(self) -> E | None:
        """The oldest Event; None once closed and empty. Blocks until then."""
        with self._changed:
            while not self._queue and not self._closed:
                self._clock.wait(self._changed, None)
            return self._queue.popleft() if self._queue else None


class EventFanout(Generic[E]):
    """
    Gives each Event to every watcher that has room for it. The broadcasters of both groups are fanouts.

    State, under _lock: _watchers; _closed (never goes back). stopping is set by shutdown, and ends
    the waits of watchers.
    Threads: any; each watcher has its own thread `events-<name>`.
    Locks: _lock is held while watchers take theirs, so all watchers see one order.
    """

    log_name = "log"
    """The name of the watcher that logs."""

    def __init__(
        self,
        *,
        queue_length: int = QUEUE_LENGTH,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        self.stopping = threading.Event()
        self._queue_length = queue_length
        self._clock = seams.clock
        self._seams = seams
        self._lock = new_lock("EventFanout._lock", 95)
        self._watchers: list[EventWatcher[E]] = []
        self._closed = False

    def start_event_watcher(self, name: str, handle: Callable[[E], None]) -> EventWatcher[E]:
        """
        Call handle with every Event from here on.

        Returns: the watcher; close() ends it alone. After shutdown() it is closed from the start.
        """
        watcher = EventWatcher(name, handle, length=self._queue_length, seams=self._seams)
        with self._lock:
            self._watchers.append(watcher)
            closed = self._closed
        if closed:
            watcher.close()
        return watcher

    def start_structured_logging(self, verbosity: int = 0) -> EventWatcher[E]:
        """Log every Event from here on, at a -v level; 0 = at every level."""
        write = partial(log.debug, v=verbosity) if verbosity else log.info
        return self.start_event_watcher(
            self.log_name, lambda event: write("Event occurred", **self.facts(event))
        )

    def facts(self, event: E) -> dict[str, Any]:
        """What the log says of an Event."""
        raise NotImplementedError

    def publish(self, event: E) -> str:
        """
        Give an Event to every watcher that has room.

        Returns: why a watcher missed it, in words; "" when none did.
        """
        with self._lock:
            if self._closed:
                return "broadcaster is shut down"
            full = [watcher.name for watcher in self._watchers if not watcher.offer(event)]
        return f"too many queued events for {', '.join(full)}" if full else ""

    def shutdown(self, timeout_seconds: float = 5.0) -> bool:
        """
        Refuse further Events, try each queued one once, and end the threads. Idempotent.

        Returns: False when a thread was still busy with an Event after the time, and the rest was dropped.
        Blocks: up to timeout_seconds.
        """
        self.stopping.set()
        with self._lock:
            self._closed = True
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher.close()
        deadline = self._clock.now() + timeout_seconds
        late = [w for w in watchers if not w.join(max(0.0, deadline - self._clock.now()))]
        for watcher in late:
            watcher.discard()
        return not late
