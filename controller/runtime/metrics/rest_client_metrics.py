"""rest_client_* as controller-runtime names and labels them: its dashboards and alerts work unchanged."""

from __future__ import annotations

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram

from handloop.client.request_metrics import RequestMetrics
from handloop.controller.runtime.metrics.buckets import B_REST, B_SIZE


class ClientMetrics(RequestMetrics):
    """Counts requests as rest_client_*."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host",
            ("code", "method", "host"),
            registry=registry,
        )
        self._retries = Counter(
            "rest_client_request_retries_total",
            "Number of request retries, partitioned by status code, verb, and host",
            ("code", "verb", "host"),
            registry=registry,
        )
        seconds, sizes = partial(self._by_verb, registry, B_REST), partial(self._by_verb, registry, B_SIZE)
        self._duration = seconds("request_duration_seconds", "Request latency in seconds")
        self._limited = seconds("rate_limiter_duration_seconds", "Client side rate limiter wait in seconds")
        self._request_size = sizes("request_size_bytes", "Request size in bytes")
        self._response_size = sizes("response_size_bytes", "Response size in bytes")
        self._dns = Histogram(
            "rest_client_dns_resolution_duration_seconds",
            "DNS resolver latency in seconds",
            ("host",),
            buckets=B_REST,
            registry=registry,
        )

    @staticmethod
    def _by_verb(registry: CollectorRegistry, buckets: tuple[float, ...], name: str, text: str) -> Histogram:
        return Histogram(f"rest_client_{name}", text, ("verb", "host"), buckets=buckets, registry=registry)

    def request_total(self, *, code: str, method: str, host: str) -> None:
        """An attempt ended."""
        self._requests.labels(code, method, host).inc()

    def request_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """How long an attempt took."""
        self._duration.labels(verb, host).observe(seconds)

    def request_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes sent."""
        self._request_size.labels(verb, host).observe(size)

    def response_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes received."""
        self._response_size.labels(verb, host).observe(size)

    def request_retry(self, *, code: str, verb: str, host: str) -> None:
        """An attempt is repeated."""
        self._retries.labels(code, verb, host).inc()

    def rate_limiter_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """A wait for our own rate limit."""
        self._limited.labels(verb, host).observe(seconds)

    def dns_resolution_duration(self, *, host: str, seconds: float) -> None:
        """A name was resolved."""
        self._dns.labels(host).observe(seconds)
