"""
A rate-limiting queue in which the initial list and resyncs yield to fresh events.

Follows: controller-runtime pkg/controller/priorityqueue in what a caller sees; built on our queue's
container.
"""

from __future__ import annotations

from collections.abc import Iterable

from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.metrics import MetricsProvider
from handloop.workqueue.priority import DEFAULT_PRIORITY, PriorityOrder
from handloop.workqueue.queue import T
from handloop.workqueue.rate_limiters import RateLimiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop.workqueue.spawn import Spawn, spawn_thread


class PriorityQueue(RateLimitingQueue[T]):
    """
    Adds take a priority: the highest asked for since the last get counts.

    Delayed adds without one keep the priority with which the item was handed out, so that a failed item of
    the initial list does not overtake the others.

    State: `_order`, guarded by `_lock`; `_delayed`, the priorities of the items that wait for their time,
    guarded by `_schedule`; `_due`, those of the items being handed over, which only the loop thread touches.
    """

    def __init__(
        self,
        rate_limiter: RateLimiter[T],
        *,
        name: str = "",
        metrics_provider: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        order: PriorityOrder[T] | None = None,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """Make an empty queue; the options are those of Queue, with order as its container."""
        self._order: PriorityOrder[T] = PriorityOrder() if order is None else order
        self._delayed: dict[T, int] = {}
        self._due: dict[T, int] = {}
        super().__init__(
            rate_limiter,
            name=name,
            metrics_provider=metrics_provider,
            clock=clock,
            container=self._order,
            spawn=spawn,
        )

    def add(self, item: T, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Mark item as needing work with at least that priority; ignored while shutting down."""
        self.add_all((item,), priority=priority)

    def add_all(self, items: Iterable[T], *, priority: int = DEFAULT_PRIORITY) -> None:
        """Add each item in order with at least that priority, under one hold of the lock."""
        self._add_with_priorities([(item, priority) for item in items])

    def add_after(self, item: T, delay_seconds: float, *, priority: int | None = None) -> None:
        """
        Add item after delay_seconds, at once if that is not positive; ignored while shutting down.

        Args: priority None keeps the one with which item was handed out.
        """
        chosen = self._priority_in_flight(item) if priority is None else priority
        with self._schedule:
            if not self._accept_retry_locked():
                return
            if delay_seconds > 0:
                self._delayed[item] = max(chosen, self._delayed.get(item, chosen))
                self._put_locked(item, self._clock.now() + delay_seconds)
                return
        self.add(item, priority=chosen)

    def add_rate_limited(
        self, item: T, *, at_least_seconds: float = 0.0, priority: int | None = None
    ) -> None:
        """Add item when the rate limiter says so; priority None keeps the one it was handed out with."""
        self.add_after(item, max(self._rate_limiter.when(item), at_least_seconds), priority=priority)

    def done(self, item: T) -> None:
        """Give item back; if it was added since the get, it waits again."""
        with self._lock:
            self._order.settle(item)
        super().done(item)

    def depths(self) -> dict[int, int]:
        """How many items wait per priority."""
        with self._lock:
            return self._order.depths()

    def _priority_in_flight(self, item: T) -> int:
        with self._lock:
            return self._order.priority_in_flight(item)

    def _add_with_priorities(self, batch: list[tuple[T, int]]) -> None:
        pushed = 0
        with self._lock:
            if self._shutting_down:
                return
            try:
                for item, priority in batch:
                    self._order.prefer(item, priority)
                    pushed += self._accept_locked(item)
            finally:
                # also when an item cannot be hashed: those before it wait
                if pushed and self._waiting:
                    self._item_ready.notify(pushed)

    def _take_due_locked(self) -> list[T]:
        due = super()._take_due_locked()
        # in the same hold of the lock: a delayed add that follows starts a fresh entry
        self._due = {item: self._delayed.pop(item) for item in due}
        return due

    def _hand_over(self, due: list[T]) -> None:
        self._add_with_priorities([(item, self._due[item]) for item in due])
