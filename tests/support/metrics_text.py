"""The metrics page of a registry."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.metrics_page import metrics_page


def text_of(registry: CollectorRegistry) -> str:
    """What /metrics answers."""
    status, content_type, body = metrics_page(registry)({})
    assert (status, content_type.partition(";")[0]) == (200, "text/plain")
    return body.decode()
