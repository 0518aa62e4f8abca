"""
A queue that adds failed items back at the pace of a rate limiter.

A worker does
    item = queue.get()                      # ShutDown: return
    try: work
    except: queue.add_rate_limited(item)    # before done: the queue holds it back until then
    else: queue.forget(item)                # also when giving up
    finally: queue.done(item)               # always, exactly once

Follows: client-go util/workqueue/rate_limiting_queue.go.
"""

from __future__ import annotations

from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.delaying_queue import DelayingQueue
from handloop.workqueue.queue import Container, T
from handloop.workqueue.queue_metrics import MetricsProvider
from handloop.workqueue.rate_limiters import RateLimiter
from handloop.workqueue.spawn import Spawn, spawn_thread


class RateLimitingQueue(DelayingQueue[T]):
    """A delaying queue whose delays come from a rate limiter. Threads: any."""

    def __init__(
        self,
        rate_limiter: RateLimiter[T],
        *,
        name: str = "",
        metrics_provider: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        container: Container[T] | None = None,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """Make an empty queue; the options are those of Queue."""
        super().__init__(
            name=name, metrics_provider=metrics_provider, clock=clock, container=container, spawn=spawn
        )
        self._rate_limiter = rate_limiter

    def add_rate_limited(self, item: T, *, at_least_seconds: float = 0.0) -> None:
        """
        Add item when the rate limiter says so, or later if asked to.

        The limiter counts also while shutting down.
        """
        # (12) add rate limited
        self.add_after(item, max(self._rate_limiter.when(item), at_least_seconds))

    def forget(self, item: T) -> None:
        """End the count of failures of item. The queue itself is not touched: done() is still due."""
        self._rate_limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """How often item was added back since it was last forgotten."""
        return self._rate_limiter.num_requeues(item)
