"""
The queue of one controller: names with their causes, delays and priorities.

The initial list and resyncs wait behind what has just happened, with ageing; a failed name comes back with
back-off; one that asked for it comes back later; one that failed for good waits for a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handloop.controller.runtime.causes import Cause, Causes
from handloop.informers.keys import ObjectName
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock
from handloop.workqueue.priority import DEFAULT_PRIORITY
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import QueueStatistics
from handloop.workqueue.queue_metrics import MetricsProvider
from handloop.workqueue.rate_limiters import ItemExponentialFailureRateLimiter, RateLimiter
from handloop.workqueue.spawn import Spawn, spawn_thread

BASE_DELAY_SECONDS: Final = 0.005
MAX_DELAY_SECONDS: Final = 1000.0


def default_rate_limiter() -> RateLimiter[ObjectName]:
    """Per name 5 ms, doubling up to 1000 s: controller-runtime's for its priority queue."""
    return ItemExponentialFailureRateLimiter(BASE_DELAY_SECONDS, MAX_DELAY_SECONDS)


class ReconcileQueue:
    """
    A worker does get, take, one of park, settle, requeue, retry or give_up, and always done.

    State, under _lock: _given_up, names that failed for good and have not changed since. _causes and _queue
    guard themselves; a cause is always there before its name is in the queue.
    Threads: listeners add; workers do the rest, each with the name that it got.
    """

    def __init__(
        self,
        name: str,
        *,
        rate_limiter: RateLimiter[ObjectName] | None = None,
        metrics_provider: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        self._clock = clock
        self._rate_limiter = default_rate_limiter() if rate_limiter is None else rate_limiter
        self._causes = Causes()
        self._lock = new_lock("ReconcileQueue._lock", 95)
        self._given_up: set[ObjectName] = set()
        self._queue: PriorityQueue[ObjectName] = PriorityQueue(
            self._rate_limiter, name=name, metrics_provider=metrics_provider, clock=clock, spawn=spawn
        )

    def add(self, name: ObjectName, cause: Cause, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Reconcile a name; without effect for a resync of one that failed for good."""
        if self._is_idle_resync(name, cause):
            return
        self._causes.add(name, (cause,))
        self._queue.add(name, priority=priority)

    def wake(self, name: ObjectName) -> None:
        """Look at a parked name again, now."""
        self._queue.add(name)

    def get(self) -> ObjectName:
        """
        Take the next name.

        Raises: ShutDown. Blocks: until there is one.
        """
        return self._queue.get()

    def take(self, name: ObjectName) -> tuple[Cause, ...]:
        """The causes of a name that was got; none when an earlier reconcile has seen to them."""
        taken = self._causes.take(name, self._clock.now())
        if taken.due_at is not None:
            # a wake that nobody needed any more took the place of the delayed add: the plan is still to come
            self._queue.add_after(name, taken.due_at - self._clock.now())
        return taken.causes

    def park(self, name: ObjectName, causes: tuple[Cause, ...], seconds: float) -> None:
        """Put a name aside with its causes, until wake or so long."""
        self._causes.add(name, causes)
        self._queue.add_after(name, seconds)

    def settle(self, name: ObjectName) -> None:
        """A reconcile worked out."""
        self._queue.forget(name)
        self._set_given_up(name, given_up=False)

    def requeue(self, name: ObjectName, seconds: float) -> None:
        """A reconcile worked out, and wants another one later."""
        self.settle(name)
        self._later(name, seconds, Cause("requeue", detail=f"after {seconds:g}s"))

    def retry(self, name: ObjectName, reason: str, *, at_least_seconds: float = 0.0) -> float:
        """
        A reconcile failed: again after a back-off, or later if asked to. Returns: that, in seconds.

        Args: reason is a word, such as the class of the error.
        """
        delay = max(self._rate_limiter.when(name), at_least_seconds)
        self._set_given_up(name, given_up=False)
        detail = f"{self._queue.num_requeues(name)} after {reason}"
        self._later(name, delay, Cause("retry", detail=detail))
        return delay

    def give_up(self, name: ObjectName) -> None:
        """A reconcile failed for good: no resync leads to another one, only a change does."""
        self._queue.forget(name)
        self._set_given_up(name, given_up=True)

    def done(self, name: ObjectName) -> None:
        """Give a name back; if it was added meanwhile, it waits again."""
        self._queue.done(name)

    def num_requeues(self, name: ObjectName) -> int:
        """How often a name failed since it last worked out."""
        return self._queue.num_requeues(name)

    def depths(self) -> Mapping[int, int]:
        """How many names need work per priority, also those added again while a worker has them."""
        return self._queue.depths()

    def statistics(self) -> QueueStatistics:
        """A snapshot."""
        return self._queue.statistics()

    def shut_down(self) -> None:
        """Take nothing more, and end those who wait in get. Blocks: until the queue's threads have ended."""
        self._queue.shut_down()

    def _later(self, name: ObjectName, seconds: float, cause: Cause) -> None:
        self._causes.schedule(name, self._clock.now() + seconds, cause)
        self._queue.add_after(name, seconds)

    def _is_idle_resync(self, name: ObjectName, cause: Cause) -> bool:
        if not cause.is_resync:
            return False
        with self._lock:
            return name in self._given_up

    def _set_given_up(self, name: ObjectName, *, given_up: bool) -> None:
        with self._lock:
            if given_up:
                self._given_up.add(name)
            else:
                self._given_up.discard(name)
