from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.queue import ShutDown
from support.builders.queues import (
    AnyDelayingQueue,
    NewDelayingQueue,
    assert_nothing_comes_within,
    both_delaying_queues,
    priority_queue,
    rate_limiting_queue,
    take,
)
from support.checks.threads import Background
from support.doubles.recording_metrics import QueueMetricsProvider


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=[rate_limiting_queue, priority_queue], ids=["rate-limiting", "priority"])
def queue(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[AnyDelayingQueue]:
    with request.param(seams=Seams(clock=clock)) as queue:
        yield queue


def test_item_comes_when_its_time_has_come(queue: AnyDelayingQueue, clock: FakeClock) -> None:
    """A delayed item is queued after its delay, once. Follows TestSimpleQueue."""
    queue.add_after("foo", 0.05)
    assert len(queue) == 0
    assert queue.statistics().delayed == 1
    assert set(queue.items(10).delayed) == {"foo"}
    clock.wait_for_deadline(0.05)
    clock.advance(0.06)

    assert take(queue) == "foo"
    assert_nothing_comes_within(queue, clock, 10)


@pytest.mark.parametrize("second", [0.07, 0.03], ids=["later", "earlier"])
def test_the_earlier_add_of_a_waiting_item_counts(
    queue: AnyDelayingQueue, clock: FakeClock, second: float
) -> None:
    """Whichever came first; and there is one delivery. Follows TestDeduping."""
    queue.add_after("foo", 0.05)
    queue.add_after("foo", second)
    clock.advance(min(0.05, second) + 0.01)
    assert take(queue) == "foo"
    assert_nothing_comes_within(queue, clock, 0.04)


@both_delaying_queues
def test_a_thread_that_cannot_be_started_is_started_by_the_next_delayed_add(
    new_queue: NewDelayingQueue, clock: FakeClock
) -> None:
    """Even of the same item: otherwise it would wait for ever."""
    failures = [RuntimeError("can't start new thread")]

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        if failures:
            raise failures.pop()
        return spawn_thread(name, target)

    with new_queue(seams=Seams(clock=clock, spawn=spawn)) as queue:
        with pytest.raises(RuntimeError):
            queue.add_after("foo", 1)
        assert queue.statistics().delayed == 0
        queue.add_after("foo", 2)
        clock.wait_for_deadline(2)
        clock.advance(2)
        assert take(queue) == "foo"


def test_items_due_together_come_in_order_of_time(queue: AnyDelayingQueue, clock: FakeClock) -> None:
    """One step over several times queues in the order of times. Follows TestCopyShifting."""
    queue.add_after("foo", 1)
    queue.add_after("bar", 0.5)
    queue.add_after("baz", 0.25)
    clock.advance(2)

    assert [take(queue) for _ in range(3)] == ["baz", "bar", "foo"]


def test_items_of_equal_time_come_in_order_of_calls(queue: AnyDelayingQueue, clock: FakeClock) -> None:
    """Equal ready times are first in, first out."""
    for item in "badc":
        queue.add_after(item, 1)
    clock.advance(1)

    assert [take(queue) for _ in range(4)] == list("badc")


@pytest.mark.parametrize("delay", [0.0, -1.0])
@both_delaying_queues
def test_no_delay_is_an_add(new_queue: NewDelayingQueue, delay: float) -> None:
    """A delay of zero or less queues at once, once, without a thread."""
    with new_queue(seams=Seams(spawn=lambda name, _: pytest.fail(name))) as queue:
        queue.add_after("x", delay)
        queue.add_after("x", delay)

        assert len(queue) == 1


@both_delaying_queues
def test_shut_down_ends_delayed_adds(new_queue: NewDelayingQueue, clock: FakeClock) -> None:
    """A delayed add after the shutdown neither comes nor counts as a retry."""
    provider = QueueMetricsProvider()
    queue = new_queue(name="test", metrics_provider=provider, seams=Seams(clock=clock))
    queue.add_after("before", 1)
    queue.shut_down()
    queue.add_after("x", 1)
    queue.add_after("x", 0)
    clock.advance(2)

    assert len(queue) == 0
    assert queue.statistics().delayed == 0
    assert provider.retries.value == 1


@both_delaying_queues
def test_retries_count_every_delayed_add(new_queue: NewDelayingQueue, clock: FakeClock) -> None:
    """The retry metric counts calls, with and without a delay, also those that change nothing."""
    provider = QueueMetricsProvider()
    with new_queue(name="test", metrics_provider=provider, seams=Seams(clock=clock)) as queue:
        for delay in (1, 2, 0, -1):
            queue.add_after("x", delay)

    assert provider.retries.value == 4


def test_add_does_not_cancel_a_delayed_add(clock: FakeClock) -> None:
    """An item added at once comes a second time when its time has come."""
    with rate_limiting_queue(seams=Seams(clock=clock)) as queue:
        queue.add_after("foo", 1)
        queue.add("foo")
        assert take(queue) == "foo"
        clock.advance(1)

        assert take(queue) == "foo"


@both_delaying_queues
def test_drain_drops_what_is_delayed(new_queue: NewDelayingQueue, clock: FakeClock) -> None:
    """A drain does not wait for delayed items, which never come, and ends the loop."""
    loops = list[Joinable]()

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        loops.append(spawn_thread(name, target))
        return loops[-1]

    queue = new_queue(seams=Seams(clock=clock, spawn=spawn))
    queue.add_after("foo", 1)
    Background(queue.shut_down_with_drain).result()
    clock.advance(2)

    (loop,) = loops
    assert not loop.is_alive()
    with pytest.raises(ShutDown):
        queue.get()


def test_an_infinite_delay_never_comes(queue: AnyDelayingQueue, clock: FakeClock) -> None:
    """A limiter that answers "never" does not disturb the others."""
    queue.add_after("never", math.inf)
    queue.add_after("soon", 1)
    clock.advance(1e9)

    assert take(queue) == "soon"
    assert queue.statistics().delayed == 1


@both_delaying_queues
@pytest.mark.parametrize(
    ("name", "threads"), [("Foos", ["delaying-Foos", "metrics-Foos"]), ("", ["delaying-queue"])]
)
def test_a_shutdown_waits_for_the_threads(
    new_queue: NewDelayingQueue, clock: FakeClock, name: str, threads: list[str]
) -> None:
    """That of the delays, and of a queue with a name that of the metrics; each is started once, and named."""
    begun, joined = list[str](), list[str]()

    class NoThread:
        def __init__(self, name: str) -> None:
            self._name = name
            begun.append(name)

        def join(self, timeout: float | None = None) -> None:
            joined.append(self._name)

        def is_alive(self) -> bool:
            return False

    seams = Seams(clock=clock, spawn=lambda name, _target: NoThread(name))
    with new_queue(name=name, metrics_provider=QueueMetricsProvider(), seams=seams) as queue:
        queue.add("now")
        queue.add_after("later", 1)
        queue.add_after("even later", 2)
        queue.done(queue.get())
    assert sorted(begun) == sorted(joined) == threads
