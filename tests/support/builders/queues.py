"""The queue of a controller by hand and that of the runtime, for tests of what both guarantee."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import Queue, QueueOptions
from handloop.workqueue.rate_limiters import ItemExponentialFailureRateLimiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from support.checks.threads import Background

AnyQueue: TypeAlias = Queue[Any] | PriorityQueue[Any]
NewQueue: TypeAlias = Callable[..., AnyQueue]
AnyDelayingQueue: TypeAlias = RateLimitingQueue[Any] | PriorityQueue[Any]
NewDelayingQueue: TypeAlias = Callable[..., AnyDelayingQueue]


def queue(**options: Any) -> Queue[Any]:
    """First in, first out."""
    return Queue(QueueOptions(**options))


def rate_limiting_queue(**options: Any) -> RateLimitingQueue[Any]:
    """1 s after the first failure, and then twice as long each time, up to 100 s."""
    return RateLimitingQueue(ItemExponentialFailureRateLimiter(1, 100), QueueOptions(**options))


def priority_queue(**options: Any) -> PriorityQueue[Any]:
    """The same delays."""
    return PriorityQueue(ItemExponentialFailureRateLimiter(1, 100), QueueOptions(**options))


def take(queue: AnyDelayingQueue) -> str:
    """Get and done, with a deadline."""
    item: str = Background(queue.get).result()
    queue.done(item)
    return item


def assert_nothing_comes_within(queue: AnyDelayingQueue, clock: FakeClock, seconds: float) -> None:
    """Whatever was due within that time would come before an item that is added last for its end."""
    queue.add_after("sentinel", seconds)
    clock.advance(seconds)
    assert take(queue) == "sentinel"
    assert len(queue) == 0


both_queues = pytest.mark.parametrize("new_queue", [queue, priority_queue], ids=["queue", "priority"])
both_delaying_queues = pytest.mark.parametrize(
    "new_queue", [rate_limiting_queue, priority_queue], ids=["rate-limiting", "priority"]
)
