"""
A queue that can delay an add, and a queue that delays the retries of failed items with a rate limiter.

A worker does
    item = queue.get()                      # return if this raises ShutDown
    try: work
    except: queue.add_rate_limited(item)    # before done; the item is delivered again only after done
    else: queue.forget(item)                # also if you do not retry a failed item
    finally: queue.done(item)               # always, exactly once

Follows: client-go util/workqueue/delaying_queue.go and rate_limiting_queue.go. Differs: the points listed in
`schedule.py`; and shut_down_with_drain ends the loop immediately, whereas in client-go, the loop ends at its
next heartbeat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, Generic

from handloop.seams.locks import new_lock
from handloop.seams.step_trace import TRACE, handled_error
from handloop.workqueue.queue import NO_OPTIONS, Queue, QueueItems, QueueOptions, QueueStatistics, T
from handloop.workqueue.rate_limiters import RateLimiter
from handloop.workqueue.schedule import Schedule

_RANK: Final = 70


class DelayingQueue(Queue[T]):
    """
    A queue that can add items after a delay.

    Neither an immediate add nor done() cancels a delayed add of the same item.
    State: `_schedule`, guarded by `_delays` (rank 70, `DelayingQueue._lock` in the table of locks).
    Threads: usable from any thread; the loop thread `delaying-<queue>` moves due items to the queue.
    """

    def __init__(self, options: QueueOptions = NO_OPTIONS) -> None:
        """Create an empty queue."""
        super().__init__(options)
        self._delays = new_lock("DelayingQueue._lock", _RANK)
        self._schedule: Schedule[T] = Schedule(
            self._delays, self.add_all, name=options.name, seams=options.seams
        )

    def add_after(self, item: T, delay_seconds: float) -> None:
        """
        Add item after delay_seconds, or at once if the delay is not positive. Ignored while shutting down.

        If item is delayed already, the earlier of the two times is used.
        """
        with self._delays:
            if self._schedule.stopped:
                return
            if self._metrics is not None:
                self._metrics.instruments.retries.inc()
            if delay_seconds > 0:
                self._schedule.put_locked(item, delay_seconds)
                return
        self.add(item)

    def statistics(self) -> QueueStatistics:
        """Return a snapshot of the numbers of items in the queue."""
        with self._delays:
            delayed = len(self._schedule)
        return super().statistics()._replace(delayed=delayed)

    def items(self, most: int) -> QueueItems[T]:
        """Return a snapshot with at most this many items of each kind."""
        with self._delays:
            delayed = self._schedule.seconds_left_locked(most)
        return super().items(most)._replace(delayed=delayed)

    def _shut_down(self, *, drain: bool) -> None:
        with self._delays:
            self._schedule.stop_locked()
        super()._shut_down(drain=drain)

    def _join_threads(self) -> None:
        super()._join_threads()
        self._schedule.join()


class RateLimited(ABC, Generic[T]):
    """
    The part of a queue that delays the retries of failed items with a rate limiter.

    State: _rate_limiter, which has its own lock. Threads: usable from any thread.
    """

    name: str
    _rate_limiter: RateLimiter[T]

    @abstractmethod
    def _add_later(self, item: T, delay_seconds: float) -> None:
        """Add item, which has failed, after delay_seconds."""

    def add_rate_limited(self, item: T, *, at_least_seconds: float = 0.0) -> None:
        """
        Add item after the rate limiter's delay, or after at_least_seconds if that is longer.

        The limiter counts the failure even while the queue is shutting down.
        """
        seconds = max(self._rate_limiter.when(item), at_least_seconds)
        if TRACE.on:
            failures = self.num_requeues(item)
            TRACE.tell(11, self.name, item, seconds=seconds, failures=failures, error=handled_error())
        self._add_later(item, seconds)

    def forget(self, item: T) -> None:
        """Reset item's failure count. The queue does not change, so done() is still required."""
        if TRACE.on:
            TRACE.tell(11, self.name, item, forgotten=self._rate_limiter.num_requeues(item))
        self._rate_limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """Return how many times add_rate_limited was called for item since its last forget."""
        return self._rate_limiter.num_requeues(item)


class RateLimitingQueue(RateLimited[T], DelayingQueue[T]):
    """A delaying queue whose delays come from a rate limiter. Threads: usable from any thread."""

    def __init__(self, rate_limiter: RateLimiter[T], options: QueueOptions = NO_OPTIONS) -> None:
        """Create an empty queue."""
        super().__init__(options)
        self._rate_limiter = rate_limiter

    def add_after(self, item: T, delay_seconds: float) -> None:
        """
        Add item after delay_seconds, as DelayingQueue.add_after does.

        The rate limiter does not count this as a failure.
        """
        if TRACE.on:
            failures = self.num_requeues(item)
            TRACE.tell(11, self.name, item, seconds=delay_seconds, failures=failures, waits=handled_error())
        self._add_later(item, delay_seconds)

    def _add_later(self, item: T, delay_seconds: float) -> None:
        super().add_after(item, delay_seconds)
