"""workqueue_* as controller-runtime names and labels them: its dashboards and alerts work unchanged."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from handloop.controller.runtime.metrics.buckets import B_EXP
from handloop.controller.runtime.metrics.queue_depth import Depths, PlainDepth, QueueDepth

_QUEUE_LABELS: Final = ("name", "controller")


class WorkqueueMetricsProvider:
    """
    Makes the seven workqueue_* instruments of a queue.

    Implements handloop.workqueue.queue_metrics.MetricsProvider.
    """

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
