"""
The measurements of informers. A provider makes one instrument per informer and value.

Without a provider nothing is recorded. Values are set once per batch, never per object: no measurement shows
their cost.
Follows: client-go tools/cache/informer_metrics.go @32ce75a7d for the first three; the others are ours.
"""

from __future__ import annotations

from typing import Final, Protocol

from handloop.workqueue.queue_metrics import CounterMetric, HistogramMetric, SettableGaugeMetric

_DIGITS: Final = 15


class MetricsProvider(Protocol):
    """
    Makes the instruments of an informer, each once.

    Args: name is the informer's, such as `deployments.apps`.
    """

    def new_objects_metric(self, name: str) -> SettableGaugeMetric:
        """How many objects the store holds."""

    def new_queued_items_metric(self, name: str) -> SettableGaugeMetric:
        """How many keys wait in the FIFO."""

    def new_processing_latency_metric(self, name: str) -> HistogramMetric:
        """Seconds that a batch took from the FIFO into the store and the listeners' buffers."""

    def new_store_resource_version_metric(self, name: str) -> SettableGaugeMetric:
        """The newest resource version that was taken in, cut to its last 15 digits."""

    def new_relists_metric(self, name: str, reason: str) -> CounterMetric:
        """Lists after the first, by `RelistReason`."""

    def new_watch_restarts_metric(self, name: str) -> CounterMetric:
        """Watches opened after the first."""

    def new_last_event_timestamp_metric(self, name: str) -> SettableGaugeMetric:
        """Unix seconds at which the server was last there: it answered, sent, or ended a stream."""

    def new_quarantined_metric(self, name: str) -> SettableGaugeMetric:
        """How many objects do not fit their type and are kept out of the store."""

    def new_handler_panics_metric(self, name: str) -> CounterMetric:
        """Handler calls that raised."""


class _Nothing:
    """Every instrument, recording nothing."""

    def set(self, value: float) -> None:
        pass

    def inc(self) -> None:
        pass

    def observe(self, value: float) -> None:
        pass


_NOTHING: Final = _Nothing()


class NoopMetricsProvider:
    """Makes instruments that record nothing."""

    def _nothing(self, name: str, reason: str = "") -> _Nothing:  # noqa: ARG002 - the Protocol's signatures
        return _NOTHING

    new_objects_metric = _nothing
    new_queued_items_metric = _nothing
    new_processing_latency_metric = _nothing
    new_store_resource_version_metric = _nothing
    new_relists_metric = _nothing
    new_watch_restarts_metric = _nothing
    new_last_event_timestamp_metric = _nothing
    new_quarantined_metric = _nothing
    new_handler_panics_metric = _nothing


_NO_METRICS: Final = NoopMetricsProvider()


class InformerMetrics:
    """
    The instruments of one informer.

    Threads: each instrument has one writer (see the methods of the informer's parts); instruments lock
             themselves.
    """

    def __init__(self, name: str, provider: MetricsProvider | None = None) -> None:
        self._name = name
        self._provider = provider = provider or _NO_METRICS
        self.objects = provider.new_objects_metric(name)
        self.queued_items = provider.new_queued_items_metric(name)
        self.processing_latency = provider.new_processing_latency_metric(name)
        self.watch_restarts = provider.new_watch_restarts_metric(name)
        self.last_event_timestamp = provider.new_last_event_timestamp_metric(name)
        self.quarantined = provider.new_quarantined_metric(name)
        self.handler_panics = provider.new_handler_panics_metric(name)
        self._store_resource_version = provider.new_store_resource_version_metric(name)
        self._relists: dict[str, CounterMetric] = {}

    def relisted(self, reason: str) -> None:
        """Count a list after the first. Reflector thread only."""
        if reason not in self._relists:
            self._relists[reason] = self._provider.new_relists_metric(self._name, reason)
        self._relists[reason].inc()

    def set_store_resource_version(self, resource_version: str) -> None:
        """Publish the number behind a resource version: "" is 0, one that is no number changes nothing."""
        if not resource_version:
            self._store_resource_version.set(0)
        elif resource_version.isdecimal():
            self._store_resource_version.set(int(resource_version[-_DIGITS:]))
