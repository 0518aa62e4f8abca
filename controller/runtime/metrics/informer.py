"""informer_*: what informers measure. Nobody else's dashboards know these; ours does."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from handloop.controller.runtime.metrics.buckets import B_EXP
from handloop.informers.relist_policy import RelistReason


class InformerMetricsProvider:
    """
    Makes the informer_* instruments of an informer.

    Implements handloop.informers.informer_metrics.MetricsProvider.
    """

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
        """Objects in the store. Relists are there from here on, at 0: what begins at 1 has no rate."""
        for reason in RelistReason:
            self._relists.labels(name, reason)
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
