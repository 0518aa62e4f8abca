"""
The work queue. It decides when each key is worked on, and ensures that no two workers have the same key.

Terms
  item        a hashable key, compared by value; usually namespace and name
  worker      a thread that loops get -> work -> done
  dirty       items that need work: those waiting now, or added again while a worker has them
  processing  items that get() has returned but that have not been passed to done() yet; also "in flight"
  container   items that wait for a worker, first in, first out

Guarantees
  * At most one worker at a time has an item.
  * All adds before a get are merged into one delivery. All adds between get and done are merged into one more
    delivery after done.
  * An add after the get is never lost: the item is delivered again.

Follows: client-go util/workqueue/queue.go. Differs:
  * get() raises ShutDown instead of returning a flag.
  * Threads that wait in shut_down_with_drain have their own condition, so that a wake-up never reaches the
    wrong kind of waiter.
  * done() ignores an item that is not in flight; upstream would queue a waiting item twice.
  * The order is fixed, whereas upstream's can be replaced. PriorityQueue is a separate class here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, NamedTuple, Self, TypeVar

from handloop.seams.locks import Lock, acquire_contended, condition_over, new_lock
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.step_trace import TRACE
from handloop.workqueue.queue_metrics import MetricsProvider, QueueMetrics

T = TypeVar("T", bound=Hashable)

RANK: Final = 80
"""The rank of a queue's lock."""


class ShutDown(Exception):  # noqa: N818 - Python 3.13 has the name queue.ShutDown
    """
    The queue is shutting down and no items wait, so the worker should end.

    While items are in flight, a later get() may still succeed, because done() can queue an item again.
    """


class QueueStatistics(NamedTuple):
    """The numbers of items that are queued, in flight, added again while in flight, and delayed."""

    queued: int
    in_flight: int
    readded: int
    delayed: int

    def __str__(self) -> str:
        return f"{self.queued} queued, {self.in_flight} in flight, {self.delayed} delayed"


class QueueItems(NamedTuple, Generic[T]):
    """
    A snapshot of a queue's items, unordered. They are grouped as in QueueStatistics.

    delayed maps each item to the number of seconds until it is added.
    """

    queued: tuple[T, ...]
    in_flight: tuple[T, ...]
    readded: tuple[T, ...]
    delayed: Mapping[T, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOptions:
    """Options that every kind of queue accepts."""

    name: str = ""
    """The queue's name in metrics and thread names. Without a name, nothing is measured."""

    metrics_provider: MetricsProvider | None = None
    """Creates the queue's instruments. If it is None, nothing is measured."""

    seams: Seams = REAL_SEAMS
    """Clock and threads."""


NO_OPTIONS: Final = QueueOptions()


class BlockingQueue(ABC, Generic[T]):
    """
    Delivers each item to one worker at a time. A subclass decides where an added item goes.

    State, all guarded by `_lock` (rank 80):
      _container      items that wait for a worker; none of them is in flight
      _in_flight      items that get() has returned but that have not been passed to done() yet
      _waiting        number of getters in wait(), including woken ones that do not have the lock yet
      _shutting_down  whether the queue is shutting down; never reset
      _drain          whether the last shutdown waits for the items in flight

    No wake-up is lost. Let N be the number of getters in wait() that were woken but do not have the lock yet,
    and U the number of those that were not woken. Whenever the lock is free, U > 0 implies
    N >= len(container). In other words, while any getter sleeps, each waiting item has a woken getter:
      1. A getter blocks only after it has seen, under the lock, that the container is empty.
      2. A push wakes one more getter if U > 0. A push wakes no getter only if _waiting = N + U is 0.
      3. A pop removes one item, and at most one woken getter stops waiting. If a woken getter finds no
         item, the container is empty. A getter that is interrupted passes its wake-up on.

    Threads: usable from any thread, but only the worker that has an item calls done() for it.
    """

    _container: Collection[T]
    _in_flight: Collection[T]

    def __init__(self, options: QueueOptions, lock: Lock) -> None:
        """Initialize the base class. A subclass calls this after it has set _container and _in_flight."""
        self.name = options.name
        self._lock = lock
        self._item_ready = condition_over(lock)
        self._drained = condition_over(lock)
        self._waiting = 0
        self._shutting_down = False
        self._drain = False
        self._metrics: QueueMetrics | None = None
        name, provider = options.name, options.metrics_provider
        if name and provider is not None:
            self._metrics = QueueMetrics(provider.for_queue(name), lock, name=name, seams=options.seams)

    @abstractmethod
    def _take_locked(self) -> T:
        """Move the next item from the container to the items in flight."""

    @abstractmethod
    def _take_back_locked(self, item: T) -> bool | None:
        """Take item out of flight. Returns: whether it is queued again; None if it was not in flight."""

    @abstractmethod
    def statistics(self) -> QueueStatistics:
        """Return a snapshot of the numbers of items in the queue."""

    def get(self) -> T:
        """
        Remove and return the next item. The caller must pass it to done(), even if the work failed.

        Raises: ShutDown if the queue is shutting down and no items wait. Waiting items are delivered first.
        Blocks: until an item waits or the queue is shut down.
        """
        if not self._lock.acquire(False):  # cheaper than `with self._lock`; also in add and done
            acquire_contended(self._lock)
        try:
            if self._metrics is not None:
                self._metrics.updater.start_locked()
            while not self._container:
                if self._shutting_down:
                    raise ShutDown
                self._wait_for_item_locked()
            item = self._take_locked()
            if TRACE.on:
                TRACE.tell(8, self.name, item, waiting=len(self._container), working=len(self._in_flight))
            if self._metrics is not None:
                self._metrics.get(item)
            return item
        finally:
            self._lock.release()

    def done(self, item: T) -> None:
        """Finish the work on item. If it was added since the get, queue it behind the waiting items."""
        if not self._lock.acquire(False):
            acquire_contended(self._lock)
        try:
            again = self._take_back_locked(item)
            if again is None:
                return
            if TRACE.on:
                TRACE.tell(12, self.name, item, again=again)
            if again and self._waiting:
                self._item_ready.notify()
            if self._shutting_down and not self._in_flight:
                self._drained.notify_all()
            if self._metrics is not None:
                self._metrics.done(item)
        finally:
            self._lock.release()

    def __len__(self) -> int:
        """
        Return how many items wait for a worker, without the items in flight.

        The number can be outdated as soon as it is returned, because other threads use the queue.
        """
        with self._lock:
            return len(self._container)

    def shut_down(self) -> None:
        """
        Ignore further adds, and wake the threads blocked in get() or shut_down_with_drain().

        Items that wait for a worker are still delivered. Delayed items are dropped.
        Blocks: until the queue's own threads have ended. It does not wait for workers.
        """
        self._shut_down(drain=False)

    def shut_down_with_drain(self) -> None:
        """
        Shut down, and wait for the items in flight, but not for the queued items.

        Blocks: until no item is in flight, or another thread calls shut_down().
        """
        self._shut_down(drain=True)

    def shutting_down(self) -> bool:
        """Return whether the queue is shutting down or has shut down."""
        with self._lock:
            return self._shutting_down

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or 'without a name'}: {self.statistics()}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut_down()

    def _wait_for_item_locked(self) -> None:
        self._waiting += 1
        try:
            self._item_ready.wait()
        except BaseException:
            # If this getter was woken before it was interrupted, another getter must be woken instead.
            self._item_ready.notify()
            raise
        finally:
            self._waiting -= 1

    def _shut_down(self, *, drain: bool) -> None:
        with self._lock:
            self._shutting_down, self._drain = True, drain
            self._stop_threads_locked()
            self._item_ready.notify_all()
            self._drained.notify_all()
            # a later shut_down() ends this wait
            while self._drain and self._in_flight:
                self._drained.wait()
        self._join_threads()

    def _stop_threads_locked(self) -> None:
        if self._metrics is not None:
            self._metrics.updater.stop_locked()

    def _join_threads(self) -> None:
        if self._metrics is not None:
            self._metrics.updater.join()


class Queue(BlockingQueue[T]):
    """
    A first-in, first-out queue.

    State, all guarded by `_lock`, in addition to that of BlockingQueue:
      _dirty       items that need work
      _processing  items in flight
      _container   the items that are in _dirty but not in _processing, without duplicates
    """

    def __init__(self, options: QueueOptions = NO_OPTIONS) -> None:
        """Create an empty queue."""
        self._container: deque[T] = deque()
        self._dirty: set[T] = set()
        self._processing = self._in_flight = set[T]()
        super().__init__(options, new_lock("Queue._lock", RANK))

    def add(self, item: T) -> None:
        """Mark item as needing work. Ignored while shutting down."""
        if not self._lock.acquire(False):
            acquire_contended(self._lock)
        try:
            if self._accept_locked(item) and self._waiting:
                self._item_ready.notify()
        finally:
            self._lock.release()

    def add_all(self, items: Iterable[T]) -> None:
        """Add each item in order. The lock is acquired once, and one call wakes all the getters needed."""
        # Iterate before taking the lock, because a generator runs the caller's code.
        batch = tuple(items)
        pushed = 0
        with self._lock:
            try:
                for item in batch:
                    pushed += self._accept_locked(item)
            finally:
                # Do this even if an item cannot be hashed, because the items before it are already queued.
                if pushed and self._waiting:
                    self._item_ready.notify(pushed)

    def statistics(self) -> QueueStatistics:
        """Return a snapshot of the numbers of items in the queue."""
        with self._lock:
            queued, in_flight = len(self._container), len(self._processing)
            return QueueStatistics(queued, in_flight, readded=len(self._dirty) - queued, delayed=0)

    def items(self, most: int) -> QueueItems[T]:
        """Return a snapshot with at most this many items of each kind."""
        with self._lock:
            queued = (item for item in self._dirty if item not in self._processing)
            readded = (item for item in self._processing if item in self._dirty)
            in_flight = islice(self._processing, most)
            return QueueItems(tuple(islice(queued, most)), tuple(in_flight), tuple(islice(readded, most)), {})

    def _take_locked(self) -> T:
        item = self._container.popleft()  # (8) get key
        self._processing.add(item)
        self._dirty.discard(item)
        return item

    def _take_back_locked(self, item: T) -> bool | None:
        if item not in self._processing:
            return None
        self._processing.remove(item)  # (12) done
        if again := item in self._dirty:
            self._container.append(item)
        return again

    def _accept_locked(self, item: T) -> bool:
        """Add item without waking a getter. Return whether item was put into the container."""
        if self._shutting_down:
            return False
        if TRACE.on:
            TRACE.tell(7, self.name, item, merged=item in self._dirty, in_flight=item in self._processing)
        if item in self._dirty:
            return False
        self._dirty.add(item)
        if self._metrics is not None:
            self._metrics.add(item)
        # Do not push an item in flight, because a second worker could get it. done() pushes it.
        if item in self._processing:
            return False
        self._container.append(item)
        return True
