"""The series of requests."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.rest_client_metrics import ClientMetrics


def test_requests_are_counted_by_outcome_and_timed_by_verb() -> None:
    """As dashboards group them: attempts by code, method and host, the rest by verb and host."""
    registry = CollectorRegistry()
    told = ClientMetrics(registry)
    for code in ("200", "200", "503"):
        told.request_total(code=code, method="GET", host="h:1")
    told.request_retry(code="503", verb="GET", host="h:1")
    told.request_duration(verb="GET", host="h:1", seconds=0.02)
    told.response_size(verb="GET", host="h:1", size=300)
    told.rate_limiter_duration(verb="GET", host="h:1", seconds=3.0)

    def value(series: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"rest_client_{series}", {"host": "h:1", **labels})

    assert value("requests_total", code="200", method="GET") == 2
    assert value("requests_total", code="503", method="GET") == 1
    assert value("request_retries_total", code="503", verb="GET") == 1
    assert value("request_duration_seconds_bucket", verb="GET", le="0.005") == 0
    assert value("request_duration_seconds_bucket", verb="GET", le="0.025") == 1
    assert value("response_size_bytes_bucket", verb="GET", le="256.0") == 0
    assert value("response_size_bytes_bucket", verb="GET", le="512.0") == 1
    assert value("rate_limiter_duration_seconds_sum", verb="GET") == 3.0
