"""
The `/metrics` page, and the metrics of the process itself.

docs/metrics.md lists all metrics of a program; docs/extensions/metrics.py lists the modules that create them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    GCCollector,
    Metric,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from handloop.controller.runtime.serving.page_server import ACCEPT, Page
from handloop.seams.logs import get_logger, in_words
from handloop.seams.tracing import TRACING

log = get_logger("metrics")

_OPEN_METRICS: Final = "application/openmetrics-text"
_WHOLE_BOUND: Final = re.compile(rb'(?<=[{,])le="(\d+)\.0"')
"""prometheus_client writes le="1.0", but the Go client writes le="1", and queries use that form."""


class _Registry(CollectorRegistry):
    """A registry that logs and skips a collector that raises. State: _collectors, changed atomically."""

    def __init__(self) -> None:
        self._collectors: dict[Collector, None] = {}
        super().__init__(auto_describe=True)

    def register(self, collector: Collector) -> None:
        super().register(collector)
        self._collectors[collector] = None

    def unregister(self, collector: Collector) -> None:
        super().unregister(collector)
        self._collectors.pop(collector, None)

    def collect(self) -> Iterator[Metric]:
        for collector in tuple(self._collectors):
            try:
                found = tuple(collector.collect())
            except BaseException as error:
                facts = {"collector": in_words(collector, repr), "err": in_words(error, repr)}
                log.exception("Metrics failed: the page lacks them", **facts)
            else:
                yield from found


def new_registry() -> CollectorRegistry:
    """Return a registry with the metrics of the process: process_*, python_info, python_gc_*."""
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = _Registry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def metrics_page(registry: CollectorRegistry) -> Page:
    """
    Return `/metrics` in Prometheus's text format, or as OpenMetrics if requested while tracing is on.

    Only OpenMetrics supports exemplars, but it writes le="1.0" instead of le="1". It is therefore served only
    while tracing is on, because there are no exemplars without tracing.
    """

    def page(query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        if TRACING.on:
            encode, content_type = choose_encoder(",".join(query.get(ACCEPT, ())))
            if content_type.startswith(_OPEN_METRICS):
                return 200, content_type, encode(registry)
        return 200, CONTENT_TYPE_LATEST, _WHOLE_BOUND.sub(rb'le="\1"', generate_latest(registry))

    return page
