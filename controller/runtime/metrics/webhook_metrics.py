"""controller_runtime_webhook_*, for the conversion webhook."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The Go client's."""


class WebhookMetrics:
    """Counts the requests to each path of the webhook, like controller-runtime."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Raises: ValueError for a registry that already has these metrics."""
        self._requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Reviews by the webhook's path and the HTTP status of the response",
            ["webhook", "code"],
            registry=registry,
        )
        self._seconds = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "How long a review takes, by the webhook's path",
            ["webhook"],
            buckets=_BUCKETS,
            registry=registry,
        )

    def answered(self, path: str, code: int, seconds: float) -> None:
        """A review has been answered."""
        self._requests.labels(path, code).inc()
        self._seconds.labels(path).observe(seconds)
