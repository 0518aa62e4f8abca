"""The rest_client_* metrics, as in controller-runtime, so that its dashboards and alerts also work here."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

from handloop.client.request_reports import RequestMetrics
from handloop.controller.runtime.metrics.instruments import B_REST, B_SIZE, Instruments
from handloop.seams.tracing import TRACING

I = TypeVar("I", Counter, Histogram)  # noqa: E741 - an instrument


@lru_cache(maxsize=256)
def _series(instrument: I, *labels: str) -> I:
    """Return one series. It is cached, because a look-up in the instrument takes longer than counting."""
    return instrument.labels(*labels)


class ClientMetrics(RequestMetrics):
    """Counts requests as rest_client_*."""

    def __init__(self, registry: CollectorRegistry) -> None:
        new = Instruments(registry, "rest_client")
        self._requests = new.counter(
            "requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host",
            *("code", "method", "host"),
        )
        self._retries = new.counter(
            "request_retries_total",
            "Number of request retries, partitioned by status code, verb, and host",
            *("code", "verb", "host"),
        )
        target = ("verb", "host")
        self._duration = new.histogram(
            "request_duration_seconds", "Request latency in seconds", B_REST, *target
        )
        self._limited = new.histogram(
            "rate_limiter_duration_seconds", "Client side rate limiter wait in seconds", B_REST, *target
        )
        self._request_size = new.histogram("request_size_bytes", "Request size in bytes", B_SIZE, *target)
        self._response_size = new.histogram("response_size_bytes", "Response size in bytes", B_SIZE, *target)
        self._dns = new.histogram(
            "dns_resolution_duration_seconds", "DNS resolver latency in seconds", B_REST, "host"
        )

    def request_total(self, *, code: str, method: str, host: str) -> None:
        """An attempt ended."""
        _series(self._requests, code, method, host).inc()

    def request_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """How long an attempt took."""
        _series(self._duration, verb, host).observe(seconds, TRACING.exemplar() if TRACING.on else None)

    def request_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes sent."""
        _series(self._request_size, verb, host).observe(size)

    def response_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes received."""
        _series(self._response_size, verb, host).observe(size)

    def request_retry(self, *, code: str, verb: str, host: str) -> None:
        """An attempt is repeated."""
        _series(self._retries, code, verb, host).inc()

    def rate_limiter_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """A wait for our own rate limit."""
        _series(self._limited, verb, host).observe(seconds)

    def dns_resolution_duration(self, *, host: str, seconds: float) -> None:
        """A name was resolved."""
        _series(self._dns, host).observe(seconds)
