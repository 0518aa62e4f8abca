"""
Pass a recorder's Events to any number of watchers. A sink's watcher writes them to the API server.

    EventFanout --offer--> EventWatcher, a thread each --> EventDelivery: create or patch, with retries

RBAC: create and patch on events.
Follows: apimachinery pkg/watch/mux.go, differs: publishers add to the watchers' queues directly, without
another queue and goroutine in between, so a full queue is logged. client-go tools/record/event.go
(recordToSink), differs: if the Event to patch does not exist, and the create that follows fails because it
exists now, the attempt is repeated.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from handloop.apis.core_v1 import Event
from handloop.client.errors import AlreadyExists, APIError, Cancelled, NotFound
from handloop.client.resource_client import PatchType
from handloop.seams.locks import new_condition, new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import join_within, outliving

log = get_logger("events")

E = TypeVar("E")

QUEUE_LENGTH: Final = 1000


class EventWatcher(Generic[E]):
    """
    Passes every Event to one function, in the order in which they were offered, on a separate thread.

    State, under _changed: _queue (at most `length` Events); _closed (never reset). Once _closed is set, no
    Event is added, and the thread ends when the queue is empty.
    Threads: any thread may offer; only the thread `events-<name>` calls handle.
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

        Returns: False if the queue is full or closed, in which case this watcher loses the Event.
        """
        with self._changed:
            if self._closed or len(self._queue) >= self._length:
                return False
            self._queue.append(event)
            self._changed.notify()
            return True

    def close(self) -> None:
        """Refuse further Events. Queued Events are still passed on."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def discard(self) -> int:
        """
        Drop the queued Events, so that the thread ends.

        Returns: the number of dropped Events, plus 1 if the thread is still handling an Event.
        """
        with self._changed:
            dropped = len(self._queue)
            self._queue.clear()
        return dropped + self._thread.is_alive()

    def join(self, timeout_seconds: float) -> bool:
        """
        Wait for the thread of a closed watcher.

        Returns: whether the thread has ended.
        """
        join_within(self._thread, timeout_seconds)
        return not self._thread.is_alive()

    def __len__(self) -> int:
        with self._changed:
            return len(self._queue)

    def _run(self) -> None:
        while (event := self._next()) is not None:
            with outliving(log, "Event watcher failed", watcher=self.name):
                self._handle(event)

    def _next(self) -> E | None:
        """
        Return the oldest Event, or None once the queue is closed and empty.

        Blocks: while the queue is open and empty.
        """
        with self._changed:
            while not self._queue and not self._closed:
                self._clock.wait(self._changed, None)
            return self._queue.popleft() if self._queue else None


class EventFanout(Generic[E]):
    """
    Passes every Event to each watcher whose queue is not full.

    State, under _lock: _watchers; _closed (never reset). stopping, set by shutdown, ends the pauses before
    retries.
    Threads: any thread may publish; each watcher has its own thread `events-<name>`.
    Locks: publish holds _lock while it acquires each watcher's lock, so that all watchers receive Events in
    the same order.
    """

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
        Call handle with every later Event.

        Returns: the watcher. Its close() ends only this watcher. A watcher started after shutdown() is
        already closed.
        """
        watcher = EventWatcher(name, handle, length=self._queue_length, seams=self._seams)
        with self._lock:
            self._watchers.append(watcher)
            closed = self._closed
        if closed:
            watcher.close()
        return watcher

    def publish(self, event: E) -> str:
        """
        Pass an Event to every watcher whose queue is not full.

        Returns: why a watcher missed the Event, as text, or "" if all received it.
        """
        with self._lock:
            if self._closed:
                return "broadcaster is shut down"
            full = [watcher.name for watcher in self._watchers if not watcher.offer(event)]
        return f"too many queued events for {', '.join(full)}" if full else ""

    def shutdown(self, timeout_seconds: float = 5.0) -> int:
        """
        Refuse further Events, try to write each queued Event once, and end the threads. Idempotent.

        Returns: the number of Events that the slowest watcher had not handled before the timeout, including
        the one in progress.
        Blocks: for up to timeout_seconds.
        """
        self.stopping.set()
        with self._lock:
            self._closed = True
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher.close()
        deadline = self._clock.now() + timeout_seconds
        late = [w for w in watchers if not w.join(max(0.0, deadline - self._clock.now()))]
        return max((watcher.discard() for watcher in late), default=0)


MAX_TRIES_PER_EVENT: Final = 12
SLEEP_SECONDS: Final = 10.0
_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"


class EventSink(Protocol):
    """The destination of Events: two methods of `client.resource(Event)`."""

    def create(self, obj: Event, *, namespace: str) -> Event:
        """Create an Event and return it as stored by the server."""

    def patch(self, name: str, patch: Any, *, namespace: str, patch_type: PatchType) -> Event:
        """Patch an Event and return it as stored by the server."""


class SinkStatistics(NamedTuple):
    """The numbers of Events that were written, skipped by the correlator, or abandoned."""

    written: int = 0
    skipped: int = 0
    abandoned: int = 0


class EventDelivery:
    """
    Writes Events to a sink, one at a time.

    An Event that the server refuses is abandoned immediately. If a write fails for another reason, up to 12
    attempts are made, 10 s apart, while later Events wait. Once stop is set, each Event is tried only once.
    State: _statistics, under _lock. Threads: any thread may call the methods.
    """

    def __init__(
        self,
        sink: EventSink,
        stop: threading.Event,
        *,
        on_written: Callable[[Event], None] = lambda _: None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: on_written is called with each Event as the server stored it."""
        self._sink = sink
        self._stop = stop
        self._on_written = on_written
        self._clock = seams.clock
        self._random = seams.random
        self._lock = new_lock("EventDelivery._lock", 97)
        self._statistics = SinkStatistics()

    def statistics(self) -> SinkStatistics:
        """Return the outcomes so far."""
        with self._lock:
            return self._statistics

    def skip(self) -> None:
        """Count an Event that the correlator skipped."""
        self._count(skipped=1)

    def deliver(self, event: Event, patch: dict[str, Any] | None) -> None:
        """
        Write one Event, with up to 12 attempts. Errors of the sink are logged, not raised.

        Args: patch changes an Event that was written before; None creates the Event.
        Blocks: while the sink does not answer, for up to about 2 minutes or until stop is set.
        """
        for tries in range(1, MAX_TRIES_PER_EVENT + 1):
            if self._try_once(event, patch):
                return
            if tries < MAX_TRIES_PER_EVENT and self._clock.sleep(self._delay(tries), self._stop):
                log.error("Unable to write event (broadcaster is shut down)", **self._shown(event))
                break
        else:
            log.error("Unable to write event (retry limit exceeded!)", **self._shown(event))
        self._count(abandoned=1)

    def _try_once(self, event: Event, patch: dict[str, Any] | None) -> bool:
        """Try to write an Event. Returns: True if it was written or refused, so that no retry is needed."""
        try:
            written = self._send(event, patch)
        except APIError as error:
            # The patch found no Event, but the following create found one that another replica had just
            # created.
            if patch is not None and isinstance(error, AlreadyExists):
                return False
            self._log_rejection(error, event)
        except (TypeError, ValueError) as error:  # the request could not be built
            self._log_failure("Unable to construct event (will not retry!)", error, event)
        except Cancelled as error:
            # The NamespaceFence refused the write, because the Event's namespace is no longer watched.
            log.debug("Event dropped", v=2, err=str(error), **self._shown(event))
        except BaseException as error:  # noqa: BLE001 - such as an exit in a credentials plugin
            self._log_failure("Unable to write event (may retry after sleeping)", error, event)
            return False
        else:
            self._on_written(written)
            self._count(written=1)
            return True
        self._count(abandoned=1)
        return True

    def _delay(self, tries: int) -> float:
        """
        Return the delay before the next attempt. The first one is random, so that clients do not retry at
        once.
        """
        return SLEEP_SECONDS * self._random() if tries == 1 else SLEEP_SECONDS

    def _send(self, event: Event, patch: dict[str, Any] | None) -> Event:
        metadata = event.metadata
        if patch is not None:
            try:
                return self._sink.patch(
                    metadata.name, patch, namespace=metadata.namespace, patch_type=PatchType.STRATEGIC
                )
            except NotFound:  # Events expire on the server after an hour
                event = replace(event, metadata=replace(metadata, resource_version=""))
        return self._sink.create(event, namespace=metadata.namespace)

    def _count(self, *, written: int = 0, skipped: int = 0, abandoned: int = 0) -> None:
        with self._lock:
            before = self._statistics
            self._statistics = SinkStatistics(
                before.written + written, before.skipped + skipped, before.abandoned + abandoned
            )

    def _log_rejection(self, error: APIError, event: Event) -> None:
        causes = error.status.details.causes
        if isinstance(error, AlreadyExists) or any(
            cause.reason == _NAMESPACE_TERMINATING for cause in causes
        ):
            log.debug("Server rejected event (will not retry!)", v=5, err=str(error), **self._shown(event))
        else:
            self._log_failure("Server rejected event (will not retry!)", error, event)

    def _log_failure(self, text: str, error: BaseException, event: Event) -> None:
        log.error(text, err=str(error), **self._shown(event))

    def _shown(self, event: Event) -> dict[str, str]:
        about = event.involved_object
        return {"object": f"{about.namespace}/{about.name}", "reason": event.reason}
