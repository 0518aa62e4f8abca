from __future__ import annotations

import pytest

from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.rate_limiters import ItemExponentialFailureRateLimiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from support.builders.queues import rate_limiting_queue
from support.checks.threads import Background

MS = 0.001


class RecordingQueue(RateLimitingQueue[str]):
    """Notes the delays instead of waiting for them."""

    def __init__(self) -> None:
        super().__init__(ItemExponentialFailureRateLimiter(1 * MS, 1))
        self.delays: list[float] = []

    def add_after(self, item: str, delay_seconds: float) -> None:
        self.delays.append(delay_seconds)


def test_delays_come_from_the_limiter() -> None:
    """
    Failures of an item lengthen its delay until it is forgotten.

    Follows TestRateLimitingQueue.
    """
    queue = RecordingQueue()
    for _ in range(2):
        queue.add_rate_limited("one")
    assert queue.num_requeues("one") == 2
    for _ in range(2):
        queue.add_rate_limited("two")
    assert queue.num_requeues("two") == 2
    queue.forget("one")
    assert queue.num_requeues("one") == 0
    queue.add_rate_limited("one")

    assert queue.delays == pytest.approx([1 * MS, 2 * MS, 1 * MS, 2 * MS, 1 * MS])


def test_a_delay_may_be_asked_for() -> None:
    """The longer one counts, and the limiter counts the failure in any case."""
    queue = RecordingQueue()
    queue.add_rate_limited("one", at_least_seconds=7)
    queue.add_rate_limited("one", at_least_seconds=1.5 * MS)
    assert queue.delays == [7, 2 * MS]
    assert queue.num_requeues("one") == 2


def test_a_failed_item_comes_back_after_its_delay() -> None:
    """Added rate limited before done, an item comes again after its delay, forgotten or not."""
    clock = FakeClock()
    with rate_limiting_queue(seams=Seams(clock=clock)) as queue:
        queue.add("foo")
        item = queue.get()
        queue.add_rate_limited(item)
        queue.forget(item)
        queue.done(item)
        assert len(queue) == 0
        clock.advance(1)

        assert Background(queue.get).result() == "foo"


def test_the_limiter_counts_while_shutting_down() -> None:
    """A failure after the shutdown is counted but not queued."""
    queue = rate_limiting_queue()
    queue.shut_down()
    queue.add_rate_limited("foo")

    assert queue.num_requeues("foo") == 1
    assert queue.statistics().delayed == 0
