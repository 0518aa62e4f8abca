"""
A queue that can add an item later, and one that adds failed items back at the pace of a rate limiter.

A worker does
    item = queue.get()                      # ShutDown: return
    try: work
    except: queue.add_rate_limited(item)    # before done: the queue holds it back until then
    else: queue.forget(item)                # also when giving up
    finally: queue.done(item)               # always, exactly once

Follows: client-go util/workqueue/delaying_queue.go and rate_limiting_queue.go, differs:
  * add_after puts its entry on the heap itself, so there is no hand-over buffer that could fill up and block.
  * No heartbeat. The loop decides under the lock to wait for the earliest entry. An earlier entry or a
    shutdown, which ends that wait early, is written under the same lock and notifies, so the loop cannot miss
    it.
  * The loop thread starts with the first delayed add: a queue that never delays has no thread.
  * Entries of equal ready time are added in the order of the calls.
  * shut_down_with_drain ends the loop at once; upstream's ends at its next heartbeat.
"""

from __future__ import annotations

import heapq
import itertools
from typing import Final

from handloop.workqueue.queue import Container, Queue, QueueItems, QueueStatistics, T
from handloop.workqueue.queue_metrics import MetricsProvider
from handloop.workqueue.rate_limiters import RateLimiter
from handloop.workqueue.seams import REAL_SEAMS, Joinable, Seams, new_condition
from handloop.workqueue.step_trace import TRACE

_RANK: Final = 70
_COMPACT_FROM: Final = 64


class DelayingQueue(Queue[T]):
    """
    Adds items when their time has come. Neither an immediate add nor done() cancels a delayed add of the same
    item. In a PriorityQueue an immediate add does.

    State, all guarded by `_schedule` (rank 70, `DelayingQueue._lock` in the table of locks):
      _ready_at   the item's ready time: one per item, the earliest asked for
      _heap       (ready time, sequence number, item); an entry counts if its ready time is the one in
                  _ready_at. The others gave way to an earlier one: the loop skips them
      _stopped    never goes back to False

    Threads: any; the loop thread `delaying-<queue>` moves due items to the queue.
    """

    def __init__(
        self,
        *,
        name: str = "",
        metrics_provider: MetricsProvider | None = None,
        seams: Seams = REAL_SEAMS,
        container: Container[T] | None = None,
    ) -> None:
        """Make an empty queue; the options are those of Queue."""
        super().__init__(name=name, metrics_provider=metrics_provider, seams=seams, container=container)
        self._schedule = new_condition("DelayingQueue._lock", _RANK)
        self._ready_at: dict[T, float] = {}
        self._heap: list[tuple[float, int, T]] = []
        self._sequence = itertools.count()
        self._stopped = False
        self._loop: Joinable | None = None

    def add_after(self, item: T, delay_seconds: float) -> None:
        """
        Add item after delay_seconds, at once if that is not positive; ignored while shutting down.

        If item is already waiting for its time, the earlier of the two times counts.
        """
        with self._schedule:
            if not self._accept_retry_locked():
                return
            if delay_seconds > 0:
                self._put_locked(item, self._clock.now() + delay_seconds)
                return
        self.add(item)

    def shut_down(self) -> None:
        """
        Shut down as Queue does; items that wait for their time are dropped.

        Blocks: until the threads of the queue have ended; not for workers.
        """
        self._stop_loop()
        super().shut_down()

    def shut_down_with_drain(self) -> None:
        """
        Shut down and wait for the items that are with workers; items that wait for their time are dropped.

        Blocks: until no item is in flight, or shut_down() is called by another thread.
        """
        self._stop_loop()
        super().shut_down_with_drain()

    def statistics(self) -> QueueStatistics:
        """A snapshot of the numbers of items."""
        with self._schedule:
            delayed = len(self._ready_at)
        return super().statistics()._replace(delayed=delayed)

    def items(self, most: int) -> QueueItems[T]:
        """A snapshot of at most so many items of each kind."""
        with self._schedule:
            now = self._clock.now()
            delayed = {
                item: max(0.0, at - now) for item, at in itertools.islice(self._ready_at.items(), most)
            }
        return super().items(most)._replace(delayed=delayed)

    def _accept_retry_locked(self) -> bool:
        """Whether delayed adds are still taken; counts one more if they are."""
        if not self._stopped and self._metrics is not None:
            self._metrics.instruments.retries.inc()
        return not self._stopped

    def _put_locked(self, item: T, ready_at: float) -> None:
        known = self._ready_at.get(item)
        if known is not None and known <= ready_at:
            return
        self._ready_at[item] = ready_at
        entry = (ready_at, next(self._sequence), item)
        heapq.heappush(self._heap, entry)
        self._sweep_locked()
        if self._loop is None:
            # with the lock held, so that a shutdown finds the thread it is to join
            self._loop = self._spawn(f"delaying-{self.name or 'queue'}", self._run_loop)
        elif self._heap[0] is entry:
            # the new entry is the earliest, and the loop waits for a later time
            self._schedule.notify()

    def _sweep_locked(self) -> None:
        """Drop entries that gave way, once they are the majority: each sweep removes more than it keeps."""
        if len(self._heap) <= _COMPACT_FROM + 2 * len(self._ready_at):
            return
        self._heap = [entry for entry in self._heap if self._ready_at.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)

    def _run_loop(self) -> None:
        with self._schedule:
            while not self._stopped:
                self._hand_over_due_locked()
                self._clock.wait_until(self._schedule, self._heap[0][0] if self._heap else None)

    def _hand_over_due_locked(self) -> None:
        """Loop thread: queue due items, in the order of ready times."""
        now = self._clock.now()
        due: list[T] = []
        while self._heap and self._heap[0][0] <= now:
            ready_at, _, item = heapq.heappop(self._heap)
            if self._ready_at.get(item) == ready_at:
                del self._ready_at[item]
                due.append(item)
        if due:
            # Queue's add_all: PriorityQueue noted the priorities when the items were delayed
            super().add_all(due)

    def _stop_loop(self) -> None:
        with self._schedule:
            self._stopped = True
            self._ready_at.clear()
            self._heap.clear()
            self._schedule.notify_all()

    def _join_threads(self) -> None:
        super()._join_threads()
        with self._schedule:
            loop = self._loop
        if loop is not None:
            loop.join()


class RateLimitingQueue(DelayingQueue[T]):
    """A delaying queue whose delays come from a rate limiter. Threads: any."""

    def __init__(
        self,
        rate_limiter: RateLimiter[T],
        *,
        name: str = "",
        metrics_provider: MetricsProvider | None = None,
        seams: Seams = REAL_SEAMS,
        container: Container[T] | None = None,
    ) -> None:
        """Make an empty queue; the options are those of Queue."""
        super().__init__(name=name, metrics_provider=metrics_provider, seams=seams, container=container)
        self._rate_limiter = rate_limiter

    def add_rate_limited(self, item: T, *, at_least_seconds: float = 0.0) -> None:
        """
        Add item when the rate limiter says so, or later if asked to.

        The limiter counts also while shutting down.
        """
        seconds = max(self._rate_limiter.when(item), at_least_seconds)
        if TRACE.on:
            TRACE.tell(11, self.name, item, seconds=seconds, failures=self.num_requeues(item))
        self.add_after(item, seconds)

    def forget(self, item: T) -> None:
        """End the count of failures of item. The queue itself is not touched: done() is still due."""
        if TRACE.on:
            TRACE.tell(11, self.name, item, forgotten=self._rate_limiter.num_requeues(item))
        self._rate_limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """How often item was added back since it was last forgotten."""
        return self._rate_limiter.num_requeues(item)
