"""The series of /metrics against the table that dashboards and alerts are bound to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from controller.runtime.metrics import (
    ClientMetrics,
    InformerMetricsProvider,
    WorkqueueMetricsProvider,
    metrics_page,
    new_registry,
)
from informers.metrics import InformerMetrics
from support.fake_clock import FakeClock
from workqueue.rate_limiters import default_controller_rate_limiter
from workqueue.rate_limiting_queue import RateLimitingQueue

B_EXP = (
    "1e-08",
    "1e-07",
    "1e-06",
    "1e-05",
    "0.0001",
    "0.001",
    "0.01",
    "0.1",
    "1.0",
    "10.0",
    "100.0",
    "1000.0",
)
B_REST = ("0.005", "0.025", "0.1", "0.25", "0.5", "1.0", "2.0", "4.0", "8.0", "15.0", "30.0", "60.0")
B_SIZE = ("64", "256", "512", "1024", "4096", "16384", "65536", "262144", "1048576", "4194304", "16777216")
QUEUE = {"name", "controller"}


class Row(NamedTuple):
    """What a series is: its type, its labels and, for a histogram, its buckets without +Inf."""

    type: str
    labels: set[str]
    buckets: tuple[str, ...] = ()


TABLE = {
    "workqueue_depth": Row("gauge", QUEUE | {"priority"}),
    "workqueue_adds_total": Row("counter", QUEUE),
    "workqueue_queue_duration_seconds": Row("histogram", QUEUE, B_EXP),
    "workqueue_work_duration_seconds": Row("histogram", QUEUE, B_EXP),
    "workqueue_unfinished_work_seconds": Row("gauge", QUEUE),
    "workqueue_longest_running_processor_seconds": Row("gauge", QUEUE),
    "workqueue_retries_total": Row("counter", QUEUE),
    "rest_client_requests_total": Row("counter", {"code", "method", "host"}),
    "rest_client_request_duration_seconds": Row("histogram", {"verb", "host"}, B_REST),
    "rest_client_rate_limiter_duration_seconds": Row("histogram", {"verb", "host"}, B_REST),
    "rest_client_dns_resolution_duration_seconds": Row("histogram", {"host"}, B_REST),
    "rest_client_request_size_bytes": Row("histogram", {"verb", "host"}, B_SIZE),
    "rest_client_response_size_bytes": Row("histogram", {"verb", "host"}, B_SIZE),
    "rest_client_request_retries_total": Row("counter", {"code", "verb", "host"}),
    "informer_cached_objects": Row("gauge", {"name"}),
    "informer_queued_items": Row("gauge", {"name"}),
    "informer_store_resource_version": Row("gauge", {"name"}),
    "informer_last_event_timestamp_seconds": Row("gauge", {"name"}),
    "informer_quarantined_objects": Row("gauge", {"name"}),
    "informer_processing_latency_seconds": Row("histogram", {"name"}, B_EXP),
    "informer_relists_total": Row("counter", {"name", "reason"}),
    "informer_watch_restarts_total": Row("counter", {"name"}),
    "informer_handler_panics_total": Row("counter", {"name"}),
}
OF_THE_PROCESS = ("process_", "python_")


def text_of(registry: CollectorRegistry) -> str:
    """What /metrics answers."""
    status, content_type, body = metrics_page(registry)({})
    assert (status, content_type.partition(";")[0]) == (200, "text/plain")
    return body.decode()


@pytest.fixture
def registry() -> Iterator[CollectorRegistry]:
    """A registry in which every instrument has been used once."""
    made = new_registry()
    queue = WorkqueueMetricsProvider(made)
    queue.new_depth_metric("foo").inc()
    queue.new_adds_metric("foo").inc()
    queue.new_latency_metric("foo").observe(1)
    queue.new_work_duration_metric("foo").observe(1)
    queue.new_unfinished_work_seconds_metric("foo").set(1)
    queue.new_longest_running_processor_seconds_metric("foo").set(1)
    queue.new_retries_metric("foo").inc()
    client = ClientMetrics(made)
    client.request_total(code="200", method="GET", host="h:1")
    client.request_duration(verb="GET", host="h:1", seconds=1)
    client.request_size(verb="GET", host="h:1", size=100)
    client.response_size(verb="GET", host="h:1", size=100)
    client.request_retry(code="429", verb="GET", host="h:1")
    client.rate_limiter_duration(verb="GET", host="h:1", seconds=1)
    client.dns_resolution_duration(host="h", seconds=1)
    informer = InformerMetrics("foos", InformerMetricsProvider(made))
    informer.objects.set(3)
    informer.queued_items.set(2)
    informer.processing_latency.observe(0.001)
    informer.watch_restarts.inc()
    informer.last_event_timestamp.set(1.7e9)
    informer.quarantined.set(1)
    informer.handler_panics.inc()
    informer.set_store_resource_version("42")
    informer.relisted("expired")
    return made  # type: ignore[return-value] # a fixture without an end


def exposed(registry: CollectorRegistry) -> dict[str, Row]:
    """The series that are ours, as a scraper sees them."""
    found = {}
    for family in text_string_to_metric_families(text_of(registry)):
        if family.name.startswith(OF_THE_PROCESS):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = set().union(*(sample.labels for sample in family.samples)) - {"le"}
        bounds = [s.labels["le"] for s in family.samples if "le" in s.labels and s.labels["le"] != "+Inf"]
        found[name] = Row(family.type, labels, tuple(bounds))
    return found


@pytest.mark.parametrize("name", TABLE)
def test_a_series_is_as_the_table_says(registry: CollectorRegistry, name: str) -> None:
    """Name, type, labels and le values: what dashboards and alerts bind to."""
    row, found = TABLE[name], exposed(registry)[name]
    assert (found.type, found.labels) == (row.type, row.labels)
    assert [float(bound) for bound in found.buckets] == [float(bound) for bound in row.buckets]


def test_nothing_else_is_exposed(registry: CollectorRegistry) -> None:
    """The table is complete: a series that nobody wrote down is an accident."""
    assert set(exposed(registry)) == set(TABLE)


def test_there_are_no_created_series(registry: CollectorRegistry) -> None:
    """The Go client has none; they would double the number of series."""
    assert "_created" not in text_of(registry)


def test_the_process_tells_of_itself() -> None:
    """What the generated dashboards read of the process, and what Python has instead of go_*."""
    text = text_of(new_registry())
    for name in (
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_start_time_seconds",
        "python_info",
        "python_gc_collections_total",
    ):
        assert re.search(rf"^{name}[ {{]", text, re.MULTILINE), name


def test_name_and_controller_are_both_the_queues_name(registry: CollectorRegistry) -> None:
    """As controller-runtime labels its queues; a plain queue has an empty priority."""
    assert 'workqueue_depth{controller="foo",name="foo",priority=""} 1.0' in text_of(registry)
    assert 'workqueue_adds_total{controller="foo",name="foo"} 1.0' in text_of(registry)


def test_a_queue_feeds_its_seven_series() -> None:
    """Two adds, one retry, one item in work: the numbers that a dashboard shows."""
    registry, clock = new_registry(), FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(
        default_controller_rate_limiter(clock=clock),
        name="foo",
        metrics_provider=WorkqueueMetricsProvider(registry),
        clock=clock,
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


def test_registries_do_not_share_anything() -> None:
    """Two programs in one process, as in tests, do not collide."""
    first, second = new_registry(), new_registry()
    WorkqueueMetricsProvider(first).new_adds_metric("foo").inc()
    WorkqueueMetricsProvider(second)
    assert "workqueue_adds_total{" not in text_of(second)
