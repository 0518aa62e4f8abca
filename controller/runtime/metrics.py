"""
Prometheus instruments behind the measuring seams of the packages, and the `/metrics` page.

Names, labels and buckets of workqueue_* and rest_client_* are controller-runtime's, so that its dashboards
and alerts work unchanged; informer_* are our own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from controller.runtime.health import Page
from controller.runtime.queue_depth import Depths, PlainDepth, QueueDepth

B_EXP: Final = tuple(10.0**exponent for exponent in range(-8, 4))
B_REST: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
B_SIZE: Final = tuple(
    float(size) for size in (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
)

_WHOLE_BOUND: Final = re.compile(rb'(?<=[{,])le="(\d+)\.0"')
"""prometheus_client says le="1.0" where the Go client says le="1", which a query that names one means."""

_QUEUE_LABELS: Final = ("name", "controller")


class WorkqueueMetricsProvider:
    """Makes the seven workqueue_* instruments of a queue. Implements workqueue.metrics.MetricsProvider."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._depth = QueueDepth()
        registry.register(self._depth)
        self._adds = Counter(
            "workqueue_adds_total",
            "Total number of adds handled by workqueue",
            _QUEUE_LABELS,
            registry=registry,
        )
        self._latency = Histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            _QUEUE_LABELS,
            buckets=B_EXP,
            registry=registry,
        )
        self._work_duration = Histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            _QUEUE_LABELS,
            buckets=B_EXP,
            registry=registry,
        )
        self._unfinished = Gauge(
            "workqueue_unfinished_work_seconds",
            "Seconds of work in progress that work_duration has not observed; large values are stuck threads",
            _QUEUE_LABELS,
            registry=registry,
        )
        self._longest = Gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running processor has been running",
            _QUEUE_LABELS,
            registry=registry,
        )
        self._retries = Counter(
            "workqueue_retries_total",
            "Total number of retries handled by workqueue",
            _QUEUE_LABELS,
            registry=registry,
        )

    def new_depth_metric(self, name: str) -> PlainDepth:
        """Items ready or added again while in work."""
        return self._depth.of(name)

    def show_depths(self, name: str, depths: Depths) -> None:
        """Show the depths of a priority queue by priority, instead of one for the whole queue."""
        self._depth.show(name, depths)

    def new_adds_metric(self, name: str) -> Counter:
        """Accepted adds."""
        return self._adds.labels(name, name)

    def new_latency_metric(self, name: str) -> Histogram:
        """Seconds from add to get."""
        return self._latency.labels(name, name)

    def new_work_duration_metric(self, name: str) -> Histogram:
        """Seconds from get to done."""
        return self._work_duration.labels(name, name)

    def new_unfinished_work_seconds_metric(self, name: str) -> Gauge:
        """Sum of the ages in work."""
        return self._unfinished.labels(name, name)

    def new_longest_running_processor_seconds_metric(self, name: str) -> Gauge:
        """Oldest age in work."""
        return self._longest.labels(name, name)

    def new_retries_metric(self, name: str) -> Counter:
        """Delayed adds."""
        return self._retries.labels(name, name)


class InformerMetricsProvider:
    """Makes the informer_* instruments of an informer. Implements informers.metrics.MetricsProvider."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"informer_{name}", text, ("name",), registry=registry)

        def counter(name: str, text: str, *more: str) -> Counter:
            return Counter(f"informer_{name}", text, ("name", *more), registry=registry)

        self._objects = gauge("cached_objects", "Objects in the informer's store")
        self._queued = gauge("queued_items", "Keys waiting in the informer's FIFO")
        self._version = gauge("store_resource_version", "Last 15 digits of the store's resource version")
        self._last_event = gauge(
            "last_event_timestamp_seconds", "Unix time at which the server was last heard of"
        )
        self._quarantined = gauge(
            "quarantined_objects", "Objects that do not fit their type and are kept out of the store"
        )
        self._latency = Histogram(
            "informer_processing_latency_seconds",
            "Seconds that a batch took from the FIFO into the store and the handlers' buffers",
            ("name",),
            buckets=B_EXP,
            registry=registry,
        )
        self._relists = counter("relists_total", "Lists after the first one, by reason", "reason")
        self._watch_restarts = counter("watch_restarts_total", "Watches opened after the first one")
        self._panics = counter("handler_panics_total", "Handler calls that raised")

    def new_objects_metric(self, name: str) -> Gauge:
        """Objects in the store."""
        return self._objects.labels(name)

    def new_queued_items_metric(self, name: str) -> Gauge:
        """Keys in the FIFO."""
        return self._queued.labels(name)

    def new_processing_latency_metric(self, name: str) -> Histogram:
        """Seconds per batch."""
        return self._latency.labels(name)

    def new_store_resource_version_metric(self, name: str) -> Gauge:
        """The store's resource version."""
        return self._version.labels(name)

    def new_relists_metric(self, name: str, reason: str) -> Counter:
        """Lists after the first."""
        return self._relists.labels(name, reason)

    def new_watch_restarts_metric(self, name: str) -> Counter:
        """Watches after the first."""
        return self._watch_restarts.labels(name)

    def new_last_event_timestamp_metric(self, name: str) -> Gauge:
        """When the server was last heard of."""
        return self._last_event.labels(name)

    def new_quarantined_metric(self, name: str) -> Gauge:
        """Objects that do not fit."""
        return self._quarantined.labels(name)

    def new_handler_panics_metric(self, name: str) -> Counter:
        """Handlers that raised."""
        return self._panics.labels(name)


def new_registry() -> CollectorRegistry:
    """A registry with what the process says of itself: process_*, python_info, python_gc_*."""
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry(auto_describe=True)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def metrics_page(registry: CollectorRegistry) -> Page:
    """`/metrics` in Prometheus' text format."""

    def page(_query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        return 200, CONTENT_TYPE_LATEST, _WHOLE_BOUND.sub(rb'le="\1"', generate_latest(registry))

    return page


class ClientMetrics:
    """Counts requests as rest_client_*. Implements client.metrics.RequestMetrics."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host",
            ("code", "method", "host"),
            registry=registry,
        )
        self._retries = Counter(
            "rest_client_request_retries_total",
            "Number of request retries, partitioned by status code, verb, and host",
            ("code", "verb", "host"),
            registry=registry,
        )
        seconds, sizes = partial(self._by_verb, registry, B_REST), partial(self._by_verb, registry, B_SIZE)
        self._duration = seconds("request_duration_seconds", "Request latency in seconds")
        self._limited = seconds("rate_limiter_duration_seconds", "Client side rate limiter wait in seconds")
        self._request_size = sizes("request_size_bytes", "Request size in bytes")
        self._response_size = sizes("response_size_bytes", "Response size in bytes")
        self._dns = Histogram(
            "rest_client_dns_resolution_duration_seconds",
            "DNS resolver latency in seconds",
            ("host",),
            buckets=B_REST,
            registry=registry,
        )

    @staticmethod
    def _by_verb(registry: CollectorRegistry, buckets: tuple[float, ...], name: str, text: str) -> Histogram:
        return Histogram(f"rest_client_{name}", text, ("verb", "host"), buckets=buckets, registry=registry)

    def request_total(self, *, code: str, method: str, host: str) -> None:
        """An attempt ended."""
        self._requests.labels(code, method, host).inc()

    def request_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """How long an attempt took."""
        self._duration.labels(verb, host).observe(seconds)

    def request_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes sent."""
        self._request_size.labels(verb, host).observe(size)

    def response_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes received."""
        self._response_size.labels(verb, host).observe(size)

    def request_retry(self, *, code: str, verb: str, host: str) -> None:
        """An attempt is repeated."""
        self._retries.labels(code, verb, host).inc()

    def rate_limiter_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """A wait for our own rate limit."""
        self._limited.labels(verb, host).observe(seconds)

    def dns_resolution_duration(self, *, host: str, seconds: float) -> None:
        """A name was resolved."""
        self._dns.labels(host).observe(seconds)
