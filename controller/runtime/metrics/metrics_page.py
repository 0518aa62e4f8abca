"""
The `/metrics` page, and the process's own series.

docs/metrics.md lists every series of a program; docs/extensions/metrics.py names the modules that make them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from handloop.controller.runtime.serving.page_server import Page

_WHOLE_BOUND: Final = re.compile(rb'(?<=[{,])le="(\d+)\.0"')
"""prometheus_client writes le="1.0", the Go client le="1", which queries name."""


def new_registry() -> CollectorRegistry:
    """A registry with the process's own series: process_*, python_info, python_gc_*."""
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
