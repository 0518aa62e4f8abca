from __future__ import annotations

from handloop.client.request_reports import NO_METRICS, RequestMetrics
from support.recording_metrics import RecordingRequestMetrics


def report_everything(metrics: RequestMetrics) -> None:
    metrics.request_total(code="200", method="GET", host="h")
    metrics.request_duration(verb="GET", host="h", seconds=0.5)
    metrics.request_size(verb="GET", host="h", size=1)
    metrics.response_size(verb="GET", host="h", size=2)
    metrics.request_retry(code="429", verb="GET", host="h")
    metrics.rate_limiter_duration(verb="GET", host="h", seconds=0.1)
    metrics.dns_resolution_duration(host="h", seconds=0.2)


def test_nobody_listens_by_default() -> None:
    """The default takes every series, and returns nothing."""
    report_everything(NO_METRICS)
    assert isinstance(NO_METRICS, object)


def test_a_listener_hears_every_series() -> None:
    """The seven rest_client series each have a call."""
    metrics = RecordingRequestMetrics()
    report_everything(metrics)
    assert [entry[0] for entry in metrics.seen] == [
        "total",
        "duration",
        "request_size",
        "response_size",
        "retry",
        "rate_limiter",
        "dns",
    ]
