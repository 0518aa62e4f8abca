"""controller_runtime_* and handloop_*: there at 0 from the start, and counted one by one."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.controller_metrics import (
    EXCEEDED,
    MAX_PRIORITIES,
    QueueDepth,
    ReconcileMetrics,
    WorkqueueMetricsProvider,
)
from handloop.controller.runtime.metrics.metrics_page import new_registry
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import QueueOptions
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from support.checks.metric_table import text_of

RESULTS = ("success", "error", "requeue", "requeue_after")


@pytest.fixture
def registry() -> CollectorRegistry:
    """An empty registry."""
    return CollectorRegistry(auto_describe=True)


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    """A sample of the controller foo."""
    return registry.get_sample_value(name, {"controller": "foo", **labels})


def test_everything_is_there_before_the_first_reconcile(registry: CollectorRegistry) -> None:
    """A rate over a series that begins at 1 misses its first step, so all begin at 0."""
    ReconcileMetrics(registry).for_controller("foo", 3)
    for result in RESULTS:
        assert value(registry, "controller_runtime_reconcile_total", result=result) == 0
    for name in (
        "reconcile_errors_total",
        "terminal_reconcile_errors_total",
        "reconcile_panics_total",
        "reconcile_timeouts_total",
        "active_workers",
        "reconcile_time_seconds_count",
    ):
        assert value(registry, f"controller_runtime_{name}") == 0
    assert value(registry, "controller_runtime_max_concurrent_reconciles") == 3


@pytest.mark.parametrize("result", RESULTS)
def test_a_result_counts_once_and_takes_time(registry: CollectorRegistry, result: str) -> None:
    """The time is observed for every outcome."""
    metrics = ReconcileMetrics(registry).for_controller("foo", 1)
    metrics.observe(result, 0.3)  # type: ignore[arg-type] # one of the four
    totals = {r: value(registry, "controller_runtime_reconcile_total", result=r) for r in RESULTS}
    assert totals == {r: float(r == result) for r in RESULTS}
    assert value(registry, "controller_runtime_reconcile_time_seconds_sum") == 0.3
    assert value(registry, "controller_runtime_reconcile_time_seconds_bucket", le="0.25") == 0
    assert value(registry, "controller_runtime_reconcile_time_seconds_bucket", le="0.3") == 1


# -- queues


def test_a_queue_feeds_its_seven_series() -> None:
    """Two adds, one retry, one item in work: the numbers that a dashboard shows."""
    registry, clock = new_registry(), FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(
        default_controller_rate_limiter(clock=clock),
        QueueOptions(
            name="foo", metrics_provider=WorkqueueMetricsProvider(registry), seams=Seams(clock=clock)
        ),
    )
    try:
        queue.add("a")
        queue.add("b")
        clock.advance(0.05)
        queue.get()
        queue.add_after("c", 3600)
    finally:
        queue.shut_down()
    text, labels = text_of(registry), 'controller="foo",name="foo"'
    assert f'workqueue_depth{{{labels},priority=""}} 1.0' in text
    assert f"workqueue_adds_total{{{labels}}} 2.0" in text
    assert f"workqueue_retries_total{{{labels}}} 1.0" in text
    assert 'workqueue_queue_duration_seconds_bucket{controller="foo",le="0.01",name="foo"} 0.0' in text
    assert 'workqueue_queue_duration_seconds_bucket{controller="foo",le="0.1",name="foo"} 1.0' in text


# -- depths of queues


def shown(depth: QueueDepth) -> dict[tuple[str, str], float]:
    """(name, priority) -> value, as a scrape sees it."""
    [family] = depth.collect()
    assert all(sample.labels["name"] == sample.labels["controller"] for sample in family.samples)
    return {(sample.labels["name"], sample.labels["priority"]): sample.value for sample in family.samples}


def test_a_plain_queue_has_an_empty_priority() -> None:
    """Counted up and down, and there at 0 before the first item."""
    depth = QueueDepth()
    gauge = depth.of("foo")
    assert shown(depth) == {("foo", ""): 0}
    gauge.inc()
    gauge.inc()
    gauge.dec()
    assert shown(depth) == {("foo", ""): 1}


def test_a_priority_queue_is_shown_by_priority() -> None:
    """Both usual priorities from the start; a drained one stays, at 0; the plain count is not shown."""
    depth, clock = QueueDepth(), FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(
        default_controller_rate_limiter(clock=clock), QueueOptions(seams=Seams(clock=clock))
    )
    depth.of("app").inc()
    depth.show("app", queue.depths)
    assert shown(depth) == {("app", "0"): 0, ("app", "-100"): 0}
    try:
        queue.add("a", priority=-100)
        queue.add("b", priority=7)
        assert shown(depth) == {("app", "0"): 0, ("app", "-100"): 1, ("app", "7"): 1}
        queue.done(queue.get())
        assert shown(depth) == {("app", "0"): 0, ("app", "-100"): 1, ("app", "7"): 0}
    finally:
        queue.shut_down()


def test_too_many_priorities_become_one() -> None:
    """Beyond 25 of a user's own they must not become as many series; the sum stays right."""
    depth = QueueDepth()
    own = range(1, 101)
    depth.show("app", lambda: dict.fromkeys(own, 2))
    values = shown(depth)
    assert len(values) == MAX_PRIORITIES + 1
    assert sum(("app", str(priority)) in values for priority in own) == 25
    assert values["app", EXCEEDED] == 2 * (100 - 25)


def test_a_priority_that_was_known_keeps_its_label() -> None:
    """Series do not move under the other label when more values come."""
    depth = QueueDepth()
    waiting = {5: 1}
    depth.show("app", lambda: waiting)
    shown(depth)
    waiting |= dict.fromkeys(range(100, 200), 1)
    assert shown(depth)["app", "5"] == 1
