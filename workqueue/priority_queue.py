"""
A queue in which the initial list and resyncs wait behind recent events.

Terms
  container  the items that wait for a worker: highest priority first, with ageing
  schedule   the delayed items
  in flight  the items that get() has returned but that have not been passed to done() yet
  readded    the items in flight that were added again

Guarantees
  * At most one worker at a time has an item.
  * All adds of an item since its last get, including delayed ones, are merged into one delivery, at the
    earliest requested time and with the highest requested priority.
  * An add after the get is never lost: the item is delivered again.

Follows: the behavior of controller-runtime pkg/controller/priorityqueue @86a0d40e0, as a caller sees it.
Differs: waiting items age. Upstream, a stream of urgent items starves the others (controller-runtime#3496).
docs/differences.md says more.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Final, Generic, TypeVar

from handloop.seams.locks import acquire_contended, new_lock
from handloop.seams.step_trace import TRACE
from handloop.workqueue.queue import (
    NO_OPTIONS,
    RANK,
    BlockingQueue,
    QueueItems,
    QueueOptions,
    QueueStatistics,
)
from handloop.workqueue.rate_limiters import RateLimiter
from handloop.workqueue.rate_limiting_queue import RateLimited
from handloop.workqueue.schedule import Schedule

T = TypeVar("T", bound=Hashable)

DEFAULT_PRIORITY: Final = 0
LOW_PRIORITY: Final = -100  # for the initial list and resyncs; controller-runtime's handler.LowPriority


class PriorityOrder(Generic[T]):
    """
    The waiting items, highest priority first, and first in, first out within a priority.

    Ageing: the oldest item is the one that has waited longest. If max_overtakes consecutive pops have taken
    other items, the next pop takes the oldest item. Therefore, at least one of any max_overtakes + 1
    consecutive pops takes the oldest item, and an item behind m older ones leaves within
    (m + 1) * (max_overtakes + 1) pops, whatever is added later.

    State, guarded by the lock of the queue:
      waiting       waiting item -> priority, oldest push first; callers can read it, but must not change it
      _priority     the priority of all waiting items, while _levels is empty
      _levels       priority -> its waiting items, in the order in which they reached this priority; no level
                    is empty. Levels are created when items with a second priority wait, and are kept until
                    no item waits
      _priorities   the keys of _levels, ascending
      _overtakes    how many pops have taken another item since a pop last took the oldest item

    Cost: the time for a push or pop does not depend on the number of items. Adding or removing a priority is
    O(priorities). The first push of a second priority is O(items), but that happens at most once before the
    container is empty again.
    """

    def __init__(self, *, max_overtakes: int = 9) -> None:
        """
        Create an empty order.

        Args: max_overtakes is at least 0. With 9, under constant load, every tenth pop takes the oldest
        item.
        """
        self.waiting: Final[OrderedDict[T, int]] = OrderedDict()
        self._max_overtakes = max_overtakes
        self._priority = DEFAULT_PRIORITY
        self._levels: dict[int, OrderedDict[T, None]] = {}
        self._priorities: list[int] = []
        self._overtakes = 0

    def push(self, item: T, priority: int) -> None:
        """Add an item at the end of its priority's level. The item must not be waiting yet."""
        if not self.waiting:
            self._priority = priority
        elif self._levels or priority != self._priority:
            self._enter_level(item, priority)
        self.waiting[item] = priority

    def rise(self, item: T, priority: int) -> None:
        """If this priority is higher than a waiting item's, move the item to the end of this one's level."""
        current = self.waiting[item]
        if priority > current:
            # Enter first. If there are no levels yet, that also puts the item into its current level.
            self._enter_level(item, priority)
            self._leave_level(item, current)
            # Assigning to an existing key does not move it, so the item keeps its age.
            self.waiting[item] = priority

    def pop(self) -> tuple[T, int]:
        """
        Remove the first item of the highest level, or the oldest item if it was overtaken often enough.

        Returns: the item and its priority.
        """
        if not self._levels:
            self._overtakes = 0
            return self.waiting.popitem(last=False)
        item = next(iter(self._levels[self._priorities[-1]]))
        oldest = next(iter(self.waiting))
        if item == oldest or self._overtakes >= self._max_overtakes:
            item, self._overtakes = oldest, 0
        else:
            self._overtakes += 1
        priority = self.waiting.pop(item)
        self._leave_level(item, priority)
        return item, priority

    def depths(self) -> dict[int, int]:
        """Return how many items wait at each priority."""
        if self.waiting and not self._levels:
            return {self._priority: len(self.waiting)}
        return {priority: len(level) for priority, level in self._levels.items()}

    def _enter_level(self, item: T, priority: int) -> None:
        if not self._levels:
            self._levels[self._priority] = OrderedDict.fromkeys(self.waiting)
            self._priorities.append(self._priority)
        if priority not in self._levels:
            self._levels[priority] = OrderedDict()
            insort(self._priorities, priority)
        self._levels[priority][item] = None

    def _leave_level(self, item: T, priority: int) -> None:
        level = self._levels[priority]
        del level[item]
        if not level:
            del self._levels[priority]
            del self._priorities[bisect_left(self._priorities, priority)]


class PriorityQueue(RateLimited[T], BlockingQueue[T]):
    """
    Delivers the item with the highest priority first.

    A delayed add without a priority, such as add_rate_limited, keeps the priority with which the item was
    last delivered, so that a failed item of the initial list does not overtake the others.

    State, all guarded by `_lock`, in addition to that of BlockingQueue:
      _order          the items that wait for a worker, in order
      _container      the items of _order; none of them is in flight, delayed or readded
      _schedule       the delayed items; none of them is readded
      _delayed        delayed item -> the priority with which it will be added
      _in_flight      item in flight -> the priority with which it was delivered
      _readded        item in flight -> the priority with which done() pushes it

    Threads: `delaying-<queue>` adds the delayed items when they are due.
    """

    def __init__(self, rate_limiter: RateLimiter[T], options: QueueOptions = NO_OPTIONS) -> None:
        """Create an empty queue."""
        self._rate_limiter = rate_limiter
        self._order: PriorityOrder[T] = PriorityOrder()
        # Expose the order's own dict, because that saves a method call in each add and get.
        self._container = self._order.waiting
        self._in_flight: dict[T, int] = {}
        self._readded: dict[T, int] = {}
        super().__init__(options, new_lock("PriorityQueue._lock", RANK))
        self._schedule: Schedule[T] = Schedule(
            self._lock, self._add_due_locked, name=options.name, seams=options.seams
        )
        self._delayed: dict[T, int] = {}

    def add(self, item: T, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Mark item as needing work with at least the given priority. Ignored while shutting down."""
        if not self._lock.acquire(False):
            acquire_contended(self._lock)
        try:
            self._add_locked(item, priority)
        finally:
            self._lock.release()

    def add_all(self, items: Iterable[T], *, priority: int = DEFAULT_PRIORITY) -> None:
        """Add each item in order with at least the given priority. The lock is acquired once."""
        # Iterate before taking the lock, because a generator runs the caller's code.
        batch = tuple(items)
        with self._lock:
            for item in batch:
                self._add_locked(item, priority)

    def add_after(self, item: T, delay_seconds: float, *, priority: int | None = None) -> None:
        """
        Add item after delay_seconds, or at once if the delay is not positive. Ignored while shutting down.

        If item already needs work or is already delayed, it is still delivered only once.
        Args: if priority is None, item keeps the priority with which it was last delivered.
        """
        with self._lock:
            if self._shutting_down:
                return
            if self._metrics is not None:
                self._metrics.instruments.retries.inc()
            if priority is None:
                priority = self._in_flight.get(item, DEFAULT_PRIORITY)
            if delay_seconds <= 0:
                self._add_locked(item, priority)
            elif not self._join_locked(item, priority):
                self._schedule.put_locked(item, delay_seconds)
                self._delayed[item] = max(priority, self._delayed.get(item, priority))

    def depths(self) -> dict[int, int]:
        """Return how many items need work, by priority, including items in flight that were added again."""
        with self._lock:
            depths = Counter(self._order.depths())
            depths.update(self._readded.values())
            return dict(depths)

    def statistics(self) -> QueueStatistics:
        """Return a snapshot of the numbers of items in the queue."""
        with self._lock:
            return QueueStatistics(
                len(self._container), len(self._in_flight), len(self._readded), len(self._schedule)
            )

    def items(self, most: int) -> QueueItems[T]:
        """Return a snapshot with at most this many items of each kind."""
        with self._lock:
            queued, in_flight, readded = (
                tuple(islice(items, most)) for items in (self._container, self._in_flight, self._readded)
            )
            return QueueItems(queued, in_flight, readded, self._schedule.seconds_left_locked(most))

    def _add_locked(self, item: T, priority: int) -> None:
        if self._shutting_down:
            return
        if item in self._delayed:
            priority = max(priority, self._delayed.pop(item))
            self._schedule.discard_locked(item)
        merged, in_flight = self._join_locked(item, priority), item in self._in_flight
        if TRACE.on:
            TRACE.tell(7, self.name, item, merged=merged, in_flight=in_flight)
        if merged:
            return
        if self._metrics is not None:
            self._metrics.add(item)
        if in_flight:
            # Do not push an item in flight, because a second worker could get it. done() pushes it.
            self._readded[item] = priority
        else:
            self._order.push(item, priority)
            if self._waiting:
                self._item_ready.notify()

    def _join_locked(self, item: T, priority: int) -> bool:
        """Return whether item needs work already. If it does, raise its priority to at least this one."""
        if item in self._container:
            self._order.rise(item, priority)
        elif item in self._readded:
            self._readded[item] = max(priority, self._readded[item])
        else:
            return False
        return True

    def _add_due_locked(self, items: list[T]) -> None:
        """Add the items whose delay has passed. Called on the loop thread."""
        for item in items:
            self._add_locked(item, self._delayed.pop(item))

    def _take_locked(self) -> T:
        item, self._in_flight[item] = self._order.pop()
        return item

    def _take_back_locked(self, item: T) -> bool | None:
        if self._in_flight.pop(item, None) is None:
            return None
        priority = self._readded.pop(item, None)
        if priority is None:
            return False
        self._order.push(item, priority)
        return True

    def _stop_threads_locked(self) -> None:
        super()._stop_threads_locked()
        self._delayed.clear()
        self._schedule.stop_locked()

    def _join_threads(self) -> None:
        super()._join_threads()
        self._schedule.join()

    def _add_later(self, item: T, delay_seconds: float) -> None:
        self.add_after(item, delay_seconds)
