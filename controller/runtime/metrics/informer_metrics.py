"""
The informer_* metrics of informers. They include the size of the caches and their lag.

While a watch is open, the cache is as current as the server, even if no event arrives for a long time. A
cache lags only while no watch can be opened; the lag is the time since the server last responded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from handloop.apis.meta import encode_hook
from handloop.controller.runtime.metrics.instruments import B_EXP, Instruments
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.informer_statistics import InformerStatistics
from handloop.informers.reflector import State
from handloop.informers.relist_policy import RelistReason
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.clock import Clock

SAMPLE: Final = 32
"""How many of a cache's objects are measured to estimate its size."""

_encode: Final = msgspec.json.Encoder(enc_hook=encode_hook).encode


class InformerMetricsProvider:
    """
    Creates the informer_* instruments of each informer.

    Implements handloop.informers.informer_metrics.MetricsProvider.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        new = self._instruments = Instruments(registry, "informer", "name")
        self._objects = new.gauge("cached_objects", "Objects in the informer's store")
        self._queued = new.gauge("queued_items", "Keys waiting in the informer's FIFO")
        self._version = new.gauge("store_resource_version", "Last 15 digits of the store's resource version")
        self._last_event = new.gauge(
            "last_event_timestamp_seconds", "Unix time at which the server was last heard from"
        )
        self._quarantined = new.gauge(
            "quarantined_objects", "Objects that do not fit their type and are kept out of the store"
        )
        self._by_client = new.gauge(
            "sharded_by_client", "1 while the server sends objects of other replicas' shards, dropped here"
        )
        self._latency = new.histogram(
            "processing_latency_seconds",
            "Seconds that a batch took from the FIFO into the store and the handlers' buffers",
            B_EXP,
        )
        self._relists = new.counter("relists_total", "Lists after the first one, by reason", "reason")
        self._watch_restarts = new.counter("watch_restarts_total", "Watches opened after the first one")
        self._silent_watches = new.counter("silent_watches_total", "Watches given up because no event came")
        self._panics = new.counter("handler_panics_total", "Handler calls that raised")

    def for_informer(self, name: str) -> InformerMetrics:
        """Return an informer's instruments. They start at 0, so that rate() counts the first change."""
        return InformerMetrics(
            objects=self._objects.labels(name),
            queued_items=self._queued.labels(name),
            processing_latency=self._latency.labels(name),
            store_resource_version=self._version.labels(name),
            relists={reason: self._relists.labels(name, reason) for reason in RelistReason},
            watch_restarts=self._watch_restarts.labels(name),
            silent_watches=self._silent_watches.labels(name),
            last_event_timestamp=self._last_event.labels(name),
            quarantined=self._quarantined.labels(name),
            handler_panics=self._panics.labels(name),
            drops_foreign=self._by_client.labels(name),
        )

    def forget(self, name: str) -> None:
        """Remove an informer's series."""
        self._instruments.forget(name)


class CacheState(Collector):
    """
    The gauges informer_lag_seconds, informer_cached_bytes and informer_unindexed_objects.

    They are computed on every scrape, on the metrics server's threads. Each store's lock is held while its
    list is copied.
    """

    def __init__(self, informers: Callable[[], Iterable[SharedIndexInformer[Any]]], clock: Clock) -> None:
        self._informers = informers
        self._clock = clock

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the families without samples."""
        return _families()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauges, with one sample per informer."""
        (lag, size, unindexed), now = _families(), self._clock.now()
        for informer in self._informers():
            lag.add_metric((informer.name,), lag_seconds(informer.statistics(), now))
            size.add_metric((informer.name,), estimated_bytes(informer.indexer.list()))
            unindexed.add_metric((informer.name,), informer.indexer.unindexed())
        return lag, size, unindexed


def lag_seconds(statistics: InformerStatistics, now: float) -> float:
    """
    Return the seconds by which a cache may lag: 0 while its watch is open, or before its first list.

    Args: now is a value returned by Clock.now().
    """
    reflector = statistics.reflector
    if reflector is None or reflector.last_event_at is None:
        return 0.0
    if reflector.state is State.WATCHING or not reflector.last_error:
        return 0.0
    return max(now - reflector.last_event_at, 0.0)


def estimated_bytes(objects: Sequence[Any]) -> float:
    """Estimate the objects' total size as JSON, from a sample. Fields that their types lack do not count."""
    if not objects:
        return 0.0
    sample = objects[:: max(len(objects) // SAMPLE, 1)][:SAMPLE]
    return sum(len(_encode(obj)) for obj in sample) / len(sample) * len(objects)


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    return (
        GaugeMetricFamily(
            "informer_lag_seconds", "Seconds by which the informer's store may be behind", labels=("name",)
        ),
        GaugeMetricFamily(
            "informer_cached_bytes",
            "Approximate size as JSON of the objects in the informer's store",
            labels=("name",),
        ),
        GaugeMetricFamily(
            "informer_unindexed_objects",
            "Entries that the indexes of the informer's store lack, because an index function failed",
            labels=("name",),
        ),
    )
