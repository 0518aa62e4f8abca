from __future__ import annotations

import pytest

from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.queue import QueueOptions
from handloop.workqueue.rate_limiters import ItemExponentialFailureRateLimiter
from handloop.workqueue.rate_limiting_queue import DelayingQueue, RateLimitingQueue
from support.builders.queues import rate_limiting_queue
from support.checks.threads import Background
from support.checks.told_steps import NO, told_steps

MS = 0.001


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The delays of the test's queues, noted instead of waited for."""
    noted: list[float] = []
    monkeypatch.setattr(DelayingQueue, "add_after", lambda _queue, _item, seconds: noted.append(seconds))
    return noted


def new_queue() -> RateLimitingQueue[str]:
    return RateLimitingQueue(ItemExponentialFailureRateLimiter(1 * MS, 1), QueueOptions(name="q"))


def test_delays_come_from_the_limiter(delays: list[float]) -> None:
    """
    Failures of an item lengthen its delay until it is forgotten.

    Follows TestRateLimitingQueue.
    """
    queue = new_queue()
    for _ in range(2):
        queue.add_rate_limited("one")
    assert queue.num_requeues("one") == 2
    for _ in range(2):
        queue.add_rate_limited("two")
    assert queue.num_requeues("two") == 2
    queue.forget("one")
    assert queue.num_requeues("one") == 0
    queue.add_rate_limited("one")

    assert delays == pytest.approx([1 * MS, 2 * MS, 1 * MS, 2 * MS, 1 * MS])


def test_a_delay_may_be_asked_for(delays: list[float]) -> None:
    """The longer one counts, and the limiter counts the failure in any case."""
    queue = new_queue()
    queue.add_rate_limited("one", at_least_seconds=7)
    queue.add_rate_limited("one", at_least_seconds=1.5 * MS)
    assert delays == [7, 2 * MS]
    assert queue.num_requeues("one") == 2


def test_step_11_has_the_error_and_the_real_delay(delays: list[float]) -> None:
    """Of a failure and of a mere wait, each told once; a wait that nothing went wrong for has no reason."""
    queue = new_queue()
    with told_steps() as told:
        try:
            int("no")
        except ValueError:
            queue.add_rate_limited("one", at_least_seconds=7)
            queue.add_after("one", 10)
        queue.add_after("one", 30)
    assert [facts for *_, facts in told] == [
        {"seconds": 7, "failures": 1, "error": NO},
        {"seconds": 10, "failures": 1, "waits": NO},
        {"seconds": 30, "failures": 1, "waits": ""},
    ]
    assert delays == [7, 10, 30]


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
