"""
A rate-limiting queue in which the initial list and resyncs yield to fresh events.

Follows: controller-runtime pkg/controller/priorityqueue @86a0d40e0 in what a caller sees, on our own queue;
differs: docs/differences.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from handloop.workqueue.priority import DEFAULT_PRIORITY, PriorityOrder
from handloop.workqueue.queue import T
from handloop.workqueue.queue_metrics import MetricsProvider
from handloop.workqueue.rate_limiters import RateLimiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop.workqueue.seams import REAL_SEAMS, Seams


class PriorityQueue(RateLimitingQueue[T]):
    """
    Joins all adds since the last get, delayed or not: the earliest time and the highest priority count.

    A delayed add without a priority, such as add_rate_limited, keeps the one with which the item was handed
    out, so that a failed item of the initial list does not overtake the others.

    State: `_order`, guarded by `_lock`. No item is dirty and delayed at once: every add holds `_schedule` and
    `_lock` together, and so does the loop thread when it hands over due items.
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
        """Make an empty queue; the options are those of Queue, with order as its container."""
        self._order: PriorityOrder[T] = PriorityOrder() if order is None else order
        super().__init__(
            rate_limiter,
            name=name,
            metrics_provider=metrics_provider,
            seams=seams,
            container=self._order,
        )

    def add(self, item: T, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Mark item as needing work with at least that priority; ignored while shutting down."""
        self.add_all((item,), priority=priority)

    def add_all(self, items: Iterable[T], *, priority: int = DEFAULT_PRIORITY) -> None:
        """Add each item in order with at least that priority, under one hold of the locks."""
        # iterated before the locks are taken: a generator is the caller's code
        batch = tuple(items)
        pushed = 0
        with self._schedule, self._lock:
            if self._shutting_down:
                return
            try:
                for item in batch:
                    # the entry on the heap counts no more
                    self._ready_at.pop(item, None)
                    self._order.prefer(item, priority)
                    pushed += self._accept_locked(item)
            finally:
                # also when an item cannot be hashed: those before it wait
                if pushed and self._waiting:
                    self._item_ready.notify(pushed)

    def add_after(self, item: T, delay_seconds: float, *, priority: int | None = None) -> None:
        """
        Add item after delay_seconds, at once if that is not positive; ignored while shutting down.

        An item that is to be handed out sooner anyway is not handed out twice.
        Args: priority None keeps the one with which item was handed out.
        """
        with self._schedule:
            if not self._accept_retry_locked():
                return
            with self._lock:
                chosen = self._order.priority_in_flight(item) if priority is None else priority
                self._order.prefer(item, chosen)
                joins = item in self._dirty
            if delay_seconds > 0:
                if not joins:
                    self._put_locked(item, self._clock.now() + delay_seconds)
                return
        self.add(item, priority=chosen)

    def done(self, item: T) -> None:
        """Give item back; if it was added since the get, it waits again, behind those of its priority."""
        with self._lock:
            self._order.settle(item)
        super().done(item)

    def depths(self) -> dict[int, int]:
        """How many items need work per priority, those included that were added again while in flight."""
        with self._lock:
            depths = Counter(self._order.depths())
            depths.update(self._order.wanted(item) for item in self._processing & self._dirty)
            return dict(depths)
