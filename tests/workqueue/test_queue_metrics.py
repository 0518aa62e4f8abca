"""
What a queue measures.

Upstream's provider can be set once for a process. Ours is handed to each queue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest

from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue import queue_metrics as metrics
from support.builders.queues import NewDelayingQueue, NewQueue, both_delaying_queues, both_queues
from support.doubles.recording_metrics import QueueMetricsProvider

US = 1e-6
MS = 1e-3


def no_thread(name: str, _target: object) -> NoReturn:
    pytest.fail(f"a thread {name}")


@both_queues
def test_updates_end_at_shutdown(new_queue: NewQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """One update per tick; none after shut_down. Follows TestMetricShutdown."""
    monkeypatch.setattr(metrics, "UNFINISHED_WORK_UPDATE_SECONDS", 1 * MS)
    clock, provider = FakeClock(), QueueMetricsProvider()
    queue = new_queue(name="test", metrics_provider=provider, seams=Seams(clock=clock))
    queue.add("foo")
    assert queue.get() == "foo"
    clock.wait_for_deadline(1 * MS)
    clock.advance(1 * MS)
    provider.longest_running_processor.wait_for_values(1)
    queue.shut_down()
    clock.advance(3600)

    assert len(provider.unfinished_work.values) == 1
    assert len(provider.longest_running_processor.values) == 1


@both_queues
def test_a_queue_without_workers_has_no_thread(new_queue: NewQueue) -> None:
    """Whatever is added, the thread starts with the first get, once; after shut_down none does."""
    provider, names = QueueMetricsProvider(), list[str]()

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        names.append(name)
        return spawn_thread(name, target)

    queue = new_queue(name="test", metrics_provider=provider, seams=Seams(spawn=spawn))
    queue.add_all(["a", "b"])
    assert names == []
    assert (queue.get(), queue.get()) == ("a", "b")
    assert names == ["metrics-test"]
    queue.shut_down()

    unused = new_queue(name="unused", metrics_provider=provider, seams=Seams(spawn=spawn))
    unused.add("left")
    unused.shut_down()
    assert unused.get() == "left"
    assert names == ["metrics-test"]


@both_queues
def test_a_worker_gets_items_even_if_the_thread_cannot_be_started(new_queue: NewQueue) -> None:
    """Only the gauges wait for it. The next get starts it."""
    failures = [RuntimeError("can't start new thread")]
    started = list[str]()

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        if failures:
            raise failures.pop()
        started.append(name)
        return spawn_thread(name, target)

    with new_queue(name="test", metrics_provider=QueueMetricsProvider(), seams=Seams(spawn=spawn)) as queue:
        queue.add("a")
        queue.add("b")
        assert (queue.get(), started) == ("a", [])
        assert (queue.get(), started) == ("b", ["metrics-test"])


@both_queues
def test_what_is_recorded_when(new_queue: NewQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Adds, depth, latency, duration and unfinished work of one item's life.

    Follows TestMetrics.
    """
    monkeypatch.setattr(metrics, "UNFINISHED_WORK_UPDATE_SECONDS", 1 * MS)
    clock, provider = FakeClock(), QueueMetricsProvider()
    queue = new_queue(name="test", metrics_provider=provider, seams=Seams(clock=clock))

    queue.add("foo")
    assert (provider.adds.value, provider.depth.value) == (1, 1)

    clock.advance(50 * US)
    assert queue.get() == "foo"
    assert provider.latency.values == pytest.approx([50 * US])
    assert provider.depth.value == 0

    for _ in range(5):
        queue.add("foo")
    assert (provider.adds.value, provider.depth.value, len(queue)) == (2, 1, 0)

    clock.advance(25 * US)
    queue.done("foo")
    assert provider.work_duration.values == pytest.approx([25 * US])
    assert provider.depth.value == 1

    assert queue.get() == "foo"
    assert provider.latency.values == pytest.approx([50 * US, 25 * US])

    clock.advance(1 * MS)
    provider.longest_running_processor.wait_for_values(1)
    assert provider.unfinished_work.value == pytest.approx(1 * MS)
    assert provider.longest_running_processor.value == pytest.approx(1 * MS)

    queue.done("foo")
    assert provider.work_duration.values == pytest.approx([25 * US, 1 * MS])
    assert provider.depth.value == 0
    queue.shut_down()


@both_queues
def test_unfinished_work_is_the_sum_of_ages_every_half_second(new_queue: NewQueue) -> None:
    """Two items in flight: the sum and the maximum of their ages at each tick, 0 when all is done."""
    clock, provider = FakeClock(), QueueMetricsProvider()
    with new_queue(name="test", metrics_provider=provider, seams=Seams(clock=clock)) as queue:
        queue.add_all(["a", "b"])
        assert queue.get() == "a"
        clock.advance(0.25)
        assert queue.get() == "b"
        clock.advance(0.25)
        provider.longest_running_processor.wait_for_values(1)
        assert (provider.unfinished_work.value, provider.longest_running_processor.value) == (0.75, 0.5)

        queue.done("a")
        queue.done("b")
        clock.wait_for_deadline(1)
        clock.advance(0.5)
        provider.longest_running_processor.wait_for_values(2)
        assert (provider.unfinished_work.value, provider.longest_running_processor.value) == (0, 0)


@both_delaying_queues
def test_a_queue_without_a_name_measures_nothing(new_queue: NewDelayingQueue) -> None:
    """The provider of an unnamed queue is never asked for instruments, and no thread updates any."""
    provider = QueueMetricsProvider()
    with new_queue(metrics_provider=provider, seams=Seams(spawn=no_thread)) as queue:
        queue.add("foo")
        queue.add_after("bar", 0)
        queue.done(queue.get())

    assert provider.names == []


@both_delaying_queues
def test_a_queue_without_a_provider_measures_nothing(new_queue: NewDelayingQueue) -> None:
    """A name alone makes nothing that a thread would update."""
    with new_queue(name="test", seams=Seams(spawn=no_thread)) as queue:
        queue.add_after("foo", 0)
        queue.done(queue.get())


@both_queues
def test_a_done_or_get_without_a_known_start_is_not_measured(new_queue: NewQueue) -> None:
    """An item that was never added or handed out leaves no sample behind."""
    provider = QueueMetricsProvider()
    with new_queue(name="test", metrics_provider=provider) as queue:
        queue.done("never got")
        assert queue._metrics is not None
        queue._metrics.get("never added")
        queue._metrics.done("never got")

    assert provider.latency.values == []
    assert provider.work_duration.values == []
