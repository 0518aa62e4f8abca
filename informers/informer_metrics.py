"""
The metrics of informers. A provider creates each informer's instruments.

Without a provider, nothing is recorded. Values are set once per batch, never per object, so their cost is too
small to measure.
Follows: client-go tools/cache/informer_metrics.go @32ce75a7d for objects, queued_items and
processing_latency; the others are ours.
Decision: Informers have no registered names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from handloop.informers.relist_policy import RelistReason
from handloop.workqueue.queue_metrics import CounterMetric, HistogramMetric, SettableGaugeMetric

_DIGITS: Final = 15


class _Nothing:
    """An instrument of any type, which records nothing."""

    def set(self, value: float) -> None:
        pass

    def inc(self) -> None:
        pass

    def observe(self, value: float) -> None:
        pass


_NOTHING: Final = _Nothing()


class InformerMetrics(NamedTuple):
    """
    The instruments of one informer. By default they record nothing.

    objects: the number of objects in the store. queued_items: the number of keys in the FIFO.
    processing_latency: how many seconds a batch took from the FIFO to the store and the listeners' buffers.
    store_resource_version: the newest resource version that was put into the FIFO, truncated to its last 15
    digits. relists: the number of relists, by RelistReason. watch_restarts: the number of watches that
    were opened after the first one. silent_watches: the number of watches closed because nothing arrived.
    last_event_timestamp: the Unix time when the server last answered, sent an event, or ended a stream.
    quarantined: the number of objects that are not stored because they do not fit their type.
    handler_panics: the number of handler calls that raised. drops_foreign: 1 if the server sends objects
    that this informer drops because other processes handle them, otherwise 0.
    Threads: any thread can use the instruments, because each has its own lock.
    """

    objects: SettableGaugeMetric = _NOTHING
    queued_items: SettableGaugeMetric = _NOTHING
    processing_latency: HistogramMetric = _NOTHING
    store_resource_version: SettableGaugeMetric = _NOTHING
    relists: Mapping[RelistReason, CounterMetric] = dict.fromkeys(RelistReason, _NOTHING)
    watch_restarts: CounterMetric = _NOTHING
    silent_watches: CounterMetric = _NOTHING
    last_event_timestamp: SettableGaugeMetric = _NOTHING
    quarantined: SettableGaugeMetric = _NOTHING
    handler_panics: CounterMetric = _NOTHING
    drops_foreign: SettableGaugeMetric = _NOTHING

    def set_store_resource_version(self, resource_version: str) -> None:
        """
        Publish a resource version as a number.

        "" becomes 0, and a version that is not a number is ignored.
        """
        if not resource_version:
            self.store_resource_version.set(0)
        elif resource_version.isdecimal():
            self.store_resource_version.set(int(resource_version[-_DIGITS:]))


class MetricsProvider(Protocol):
    """Creates the instruments of informers."""

    def for_informer(self, name: str) -> InformerMetrics:
        """
        Return an informer's instruments, which are created only once.

        Args: name is, for example, `deployments.apps`.
        """

    def forget(self, name: str) -> None:
        """Remove the metrics of an informer that has ended permanently."""
