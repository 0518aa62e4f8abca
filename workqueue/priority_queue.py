"""
A queue in which the initial list and resyncs yield to fresh events.

Terms
  container  the items that wait for a worker: highest priority first, with ageing
  schedule   the items that wait for their time
  in flight  the items with workers: get() handed them out and done() has not taken them back
  readded    items in flight that were added again

Guarantees
  * An item is never with two workers at once.
  * All adds of an item since its last get are one delivery, those with a delay included: the earliest time
    and the highest priority count.
  * An add after the get is never lost: the item is delivered again.

Follows: controller-runtime pkg/controller/priorityqueue @86a0d40e0 in what a caller sees, differs: ageing.
There, a steady stream of urgent items starves the rest (controller-runtime#3496). More: docs/differences.md.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Final, Generic, Self, TypeVar

from handloop.seams.locks import acquire_contended, condition_over, new_lock
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.step_trace import TRACE, handled_error
from handloop.workqueue.queue import QueueItems, QueueStatistics, ShutDown
from handloop.workqueue.queue_metrics import MetricsProvider, MetricsUpdater, QueueMetrics
from handloop.workqueue.rate_limiters import RateLimiter
from handloop.workqueue.schedule import Schedule

T = TypeVar("T", bound=Hashable)

DEFAULT_PRIORITY: Final = 0
LOW_PRIORITY: Final = -100  # the initial list and resyncs, as controller-runtime's handler.LowPriority

_RANK: Final = 80


class PriorityOrder(Generic[T]):
    """
    The container: highest priority first, first in first out within a priority.

    Ageing: when max_overtakes pops in a row have overtaken the item that waits longest, the next pop takes
    that one. So among any max_overtakes + 1 pops one takes the oldest item, and an item with m older ones
    before it leaves within (m + 1) * (max_overtakes + 1) pops, with any later adds.

    State, guarded by the lock of the queue:
      waiting       the items that wait -> priority, oldest push first; read it, and change it by the methods
      _priority     that of all waiting items, while there are no _levels
      _levels       per priority the items that wait, oldest push first; none is empty. There are none until
                    items wait with two priorities at once, and none again once nothing waits
      _priorities   the keys of _levels, ascending
      _overtakes    pops since the oldest item was taken, each of which overtook it

    Cost: a push or pop is O(1) in items; a priority that comes or goes is O(priorities). The first push of a
    second priority is O(items), at most once for the pushes since nothing waited.
    """

    def __init__(self, *, max_overtakes: int = 9) -> None:
        """
        Make an empty order.

        Args: max_overtakes, at least 0; 9 leaves the low priorities every tenth pop under constant pressure.
        """
        self.waiting: Final[OrderedDict[T, int]] = OrderedDict()
        self._max_overtakes = max_overtakes
        self._priority = DEFAULT_PRIORITY
        self._levels: dict[int, OrderedDict[T, None]] = {}
        self._priorities: list[int] = []
        self._overtakes = 0

    def push(self, item: T, priority: int) -> None:
        """Put an item that does not wait at the end of its level."""
        if not self.waiting:
            self._priority = priority
        elif self._levels or priority != self._priority:
            self._enter_level(item, priority)
        self.waiting[item] = priority

    def rise(self, item: T, priority: int) -> None:
        """Give an item that waits at least that priority: it may go to the end of a higher level."""
        current = self.waiting[item]
        if priority > current:
            # in this order: without levels the item enters both
            self._enter_level(item, priority)
            self._leave_level(item, current)
            # a key that is there keeps its place: the item keeps its age
            self.waiting[item] = priority

    def pop(self) -> tuple[T, int]:
        """
        Take the first item of the highest level, or the one that waits longest when its turn has come.

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
        """How many items wait per priority."""
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


class PriorityQueue(Generic[T]):
    """
    Hands out each added item to one worker at a time, the most urgent first.

    A delayed add without a priority, such as add_rate_limited, keeps the one with which the item was handed
    out, so that a failed item of the initial list does not overtake the others.

    State, all guarded by `_lock` (rank 80):
      _order          which of the items that wait for a worker comes next
      _container      those items; none of them is in flight, scheduled or readded
      _schedule       the items that wait for their time; none of them is readded
      _delayed        the items of the schedule -> the priority with which they will wait
      _in_flight      item -> the priority with which it was handed out
      _readded        item in flight -> the priority with which done() pushes it
      _getters        getters blocked in wait(), also those woken but still without the lock
      _shutting_down  never goes back to False
      _drain          whether drainers keep waiting

    No wake-up is lost: each push notifies a getter if one waits, under the lock under which a getter found
    the container empty. A getter that is interrupted passes its wake-up on.

    Threads: any, except that a `done` belongs to the worker that holds the item. `delaying-<queue>` adds the
    items of the schedule when they are due.
    """

    def __init__(
        self,
        rate_limiter: RateLimiter[T],
        *,
        name: str = "",
        metrics_provider: MetricsProvider | None = None,
        seams: Seams = REAL_SEAMS,
        order: PriorityOrder[T] | None = None,
    ) -> None:
        """
        Make an empty queue.

        Args: name labels metrics and threads. Without a name or a metrics_provider nothing is measured.
        """
        self.name = name
        self._rate_limiter = rate_limiter
        self._lock = new_lock("PriorityQueue._lock", _RANK)
        self._acquire = self._lock.acquire
        self._release = self._lock.release
        self._item_ready = condition_over(self._lock)
        self._drained = condition_over(self._lock)
        self._order: PriorityOrder[T] = PriorityOrder() if order is None else order
        # looked at directly: a method call less for each add and get
        self._container = self._order.waiting
        self._schedule: Schedule[T] = Schedule(self._lock, self._add_due_locked, name=name, seams=seams)
        self._delayed: dict[T, int] = {}
        self._in_flight: dict[T, int] = {}
        self._readded: dict[T, int] = {}
        self._getters = 0
        self._shutting_down = False
        self._drain = False
        self._metrics: QueueMetrics | None = None
        self._updater: MetricsUpdater | None = None
        if name and metrics_provider is not None:
            self._metrics = QueueMetrics(metrics_provider.for_queue(name), seams.clock)
            self._updater = MetricsUpdater(self._metrics, self._lock, name=name, seams=seams)

    def add(self, item: T, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Mark item as needing work with at least that priority; ignored while shutting down."""
        if not self._acquire(False):
            acquire_contended(self._lock)
        try:
            self._add_locked(item, priority)
        finally:
            self._release()

    def add_all(self, items: Iterable[T], *, priority: int = DEFAULT_PRIORITY) -> None:
        """Add each item in order with at least that priority, under one hold of the lock."""
        # iterated before the lock is taken: a generator is the caller's code
        batch = tuple(items)
        with self._lock:
            for item in batch:
                self._add_locked(item, priority)

    def add_after(self, item: T, delay_seconds: float, *, priority: int | None = None) -> None:
        """
        Add item after delay_seconds, at once if that is not positive; ignored while shutting down.

        An item that is to be handed out sooner anyway is not handed out twice.
        Args: priority None keeps the one with which item was handed out.
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
                self._delayed[item] = max(priority, self._delayed.get(item, priority))
                self._schedule.put_locked(item, delay_seconds)

    def add_rate_limited(self, item: T, *, at_least_seconds: float = 0.0) -> None:
        """
        Add item after the rate limiter's delay, or later if asked to.

        The limiter counts also while shutting down.
        """
        seconds = max(self._rate_limiter.when(item), at_least_seconds)
        if TRACE.on:
            failures = self.num_requeues(item)
            TRACE.tell(11, self.name, item, seconds=seconds, failures=failures, error=handled_error())
        self.add_after(item, seconds)

    def forget(self, item: T) -> None:
        """End the count of failures of item. The queue itself is not touched: done() is still due."""
        if TRACE.on:
            TRACE.tell(11, self.name, item, forgotten=self._rate_limiter.num_requeues(item))
        self._rate_limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """How often item was added back since it was last forgotten."""
        return self._rate_limiter.num_requeues(item)

    def get(self) -> T:
        """
        Take the next item; the caller must give it back with done(), also when its work failed.

        Raises: ShutDown when shutting down and nothing waits; remaining items are handed out first.
        Blocks: until an item waits or the queue is shut down.
        """
        if not self._acquire(False):
            acquire_contended(self._lock)
        try:
            if self._updater is not None:
                self._updater.start_locked()
            while not self._container:
                if self._shutting_down:
                    raise ShutDown
                self._wait_for_item_locked()
            item, self._in_flight[item] = self._order.pop()
            if TRACE.on:
                TRACE.tell(8, self.name, item, waiting=len(self._container), working=len(self._in_flight))
            if self._metrics is not None:
                self._metrics.get(item)
            if self._updater is not None:
                self._updater.wake_locked()
            return item
        finally:
            self._release()

    def done(self, item: T) -> None:
        """Give item back; if it was added since the get, it waits again, behind those of its priority."""
        if not self._acquire(False):
            acquire_contended(self._lock)
        try:
            if self._in_flight.pop(item, None) is None:
                return
            priority = self._readded.pop(item, None)
            if TRACE.on:
                TRACE.tell(12, self.name, item, again=priority is not None)
            if priority is not None:
                self._push_locked(item, priority)
            if self._shutting_down and not self._in_flight:
                self._drained.notify_all()
            if self._metrics is not None:
                self._metrics.done(item)
        finally:
            self._release()

    def __len__(self) -> int:
        """How many items wait for a worker; those with workers do not count. For information only."""
        with self._lock:
            return len(self._container)

    def depths(self) -> dict[int, int]:
        """How many items need work per priority, those included that were added again while in flight."""
        with self._lock:
            depths = Counter(self._order.depths())
            depths.update(self._readded.values())
            return dict(depths)

    def statistics(self) -> QueueStatistics:
        """A snapshot of the numbers of items."""
        with self._lock:
            return QueueStatistics(
                len(self._container), len(self._in_flight), len(self._readded), len(self._schedule)
            )

    def items(self, most: int) -> QueueItems[T]:
        """A snapshot of at most so many items of each kind."""
        with self._lock:
            queued, in_flight, readded = (
                tuple(islice(items, most)) for items in (self._container, self._in_flight, self._readded)
            )
            return QueueItems(queued, in_flight, readded, self._schedule.seconds_left_locked(most))

    def shut_down(self) -> None:
        """
        Ignore further adds, end blocked getters and drainers.

        Items that wait for a worker are still handed out; those that wait for their time are dropped.
        Blocks: until the threads of the queue have ended; not for workers.
        """
        self._shut_down(drain=False)

    def shut_down_with_drain(self) -> None:
        """
        Shut down and wait for the items that are with workers.

        Blocks: until no item is in flight, or shut_down() is called by another thread.
        """
        self._shut_down(drain=True)

    def shutting_down(self) -> bool:
        """Whether a shutdown has begun."""
        with self._lock:
            return self._shutting_down

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or 'without a name'}: {self.statistics()}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut_down()

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
            # pushed here, a second worker could get it: done() pushes it
            self._readded[item] = priority
        else:
            self._push_locked(item, priority)

    def _join_locked(self, item: T, priority: int) -> bool:
        """Whether item needs work already; if it does, it has at least that priority now."""
        if item in self._container:
            self._order.rise(item, priority)
        elif item in self._readded:
            self._readded[item] = max(priority, self._readded[item])
        else:
            return False
        return True

    def _push_locked(self, item: T, priority: int) -> None:
        self._order.push(item, priority)
        if self._getters:
            self._item_ready.notify()

    def _add_due_locked(self, items: list[T]) -> None:
        """Loop thread: the time of items has come."""
        for item in items:
            self._add_locked(item, self._delayed.pop(item))

    def _wait_for_item_locked(self) -> None:
        self._getters += 1
        try:
            self._item_ready.wait()
        except BaseException:
            # interrupted after a wake-up: hand it to another getter
            self._item_ready.notify()
            raise
        finally:
            self._getters -= 1

    def _shut_down(self, *, drain: bool) -> None:
        with self._lock:
            self._shutting_down, self._drain = True, drain
            self._delayed.clear()
            self._schedule.stop_locked()
            if self._updater is not None:
                self._updater.stop_locked()
            self._item_ready.notify_all()
            self._drained.notify_all()
            # a later shut_down() ends this wait
            while self._drain and self._in_flight:
                self._drained.wait()
        if self._updater is not None:
            self._updater.join()
        self._schedule.join()
