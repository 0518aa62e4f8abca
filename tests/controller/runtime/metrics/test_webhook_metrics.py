"""What is counted of the webhook that converts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.webhook_metrics import WebhookMetrics


def test_answers_are_counted_by_their_status() -> None:
    """And their time is kept."""
    registry = CollectorRegistry()
    metrics = WebhookMetrics(registry)
    for code, seconds in ((200, 0.002), (200, 0.004), (400, 1.0)):
        metrics.answered("/convert", code, seconds)
    count = "controller_runtime_webhook_requests_total"
    assert registry.get_sample_value(count, {"webhook": "/convert", "code": "200"}) == 2
    assert registry.get_sample_value(count, {"webhook": "/convert", "code": "400"}) == 1
    fast = {"webhook": "/convert", "le": "0.005"}
    assert registry.get_sample_value("controller_runtime_webhook_latency_seconds_bucket", fast) == 2
