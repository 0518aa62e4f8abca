"""When a key is worked on: queues, rate limiters, orders, and the seams for time, locks and threads."""

from handloop.workqueue.backoff import Backoff, ExponentialBackoff
from handloop.workqueue.clock import REAL_CLOCK, Clock, RealClock
from handloop.workqueue.delaying_queue import DelayingQueue
from handloop.workqueue.metrics import MetricsProvider, set_provider
from handloop.workqueue.priority import DEFAULT_PRIORITY, LOW_PRIORITY, PriorityOrder
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import FIFO, Container, Queue, QueueStatistics, ShutDown
from handloop.workqueue.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop.workqueue.spawn import Joinable, Spawn, spawn_thread
from handloop.workqueue.token_bucket import TokenBucket, WaitTooLongError

__all__ = [
    "DEFAULT_PRIORITY",
    "FIFO",
    "LOW_PRIORITY",
    "REAL_CLOCK",
    "Backoff",
    "BucketRateLimiter",
    "Clock",
    "Container",
    "DelayingQueue",
    "ExponentialBackoff",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "Joinable",
    "MaxOfRateLimiter",
    "MetricsProvider",
    "PriorityOrder",
    "PriorityQueue",
    "Queue",
    "QueueStatistics",
    "RateLimiter",
    "RateLimitingQueue",
    "RealClock",
    "ShutDown",
    "Spawn",
    "TokenBucket",
    "WaitTooLongError",
    "WithMaxWaitRateLimiter",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
    "set_provider",
    "spawn_thread",
]
