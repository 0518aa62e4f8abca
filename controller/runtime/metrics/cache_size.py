"""How large the caches are: the gauge `informer_cached_bytes`, estimated when somebody scrapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from handloop.informers.shared_informer import SharedIndexInformer

SAMPLE: Final = 32

Informers = Callable[[], Iterable[SharedIndexInformer[Any]]]


def estimated_bytes(objects: Sequence[Any]) -> float:
    """What objects take as JSON, as far as their types keep them: a sample's mean, times their number."""
    if not objects:
        return 0.0
    sample = objects[:: max(len(objects) // SAMPLE, 1)][:SAMPLE]
    return sum(len(msgspec.json.encode(obj)) for obj in sample) / len(sample) * len(objects)


class CacheSize(Collector):
    """One sample per informer. Threads: the metrics server's."""

    def __init__(self, informers: Informers) -> None:
        self._informers = informers

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The family without samples."""
        return [_family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """One sample per informer. Locks: that of each store, for a copy of its list."""
        family = _family()
        for informer in self._informers():
            family.add_metric((informer.name,), estimated_bytes(informer.indexer.list()))
        return [family]


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "informer_cached_bytes",
        "Approximate size as JSON of the objects in the informer's store",
        labels=("name",),
    )
