"""The series of queues."""

from __future__ import annotations

from handloop.controller.runtime.metrics.controller_metrics import WorkqueueMetricsProvider
from handloop.controller.runtime.metrics.metrics_page import new_registry
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop.workqueue.seams import Seams
from support.fake_clock import FakeClock
from support.metric_table import text_of


def test_name_and_controller_are_both_the_queues_name() -> None:
    """As controller-runtime labels its queues; a plain queue has an empty priority."""
    registry = new_registry()
    queue = WorkqueueMetricsProvider(registry).for_queue("foo")
    queue.depth.inc()
    queue.adds.inc()
    assert 'workqueue_depth{controller="foo",name="foo",priority=""} 1.0' in text_of(registry)
    assert 'workqueue_adds_total{controller="foo",name="foo"} 1.0' in text_of(registry)


def test_a_queue_feeds_its_seven_series() -> None:
    """Two adds, one retry, one item in work: the numbers that a dashboard shows."""
    registry, clock = new_registry(), FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(
        default_controller_rate_limiter(clock=clock),
        name="foo",
        metrics_provider=WorkqueueMetricsProvider(registry),
        seams=Seams(clock=clock),
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
