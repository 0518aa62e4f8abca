"""
What an informer publishes.

STO-24 and STO-25 have no subject here: upstream's informers are given a name by hand, and only a name that
nobody else has publishes. Ours are named by who makes them: a factory makes one per kind and tells its own
apart by a suffix, and a registry takes one manager.
"""

from __future__ import annotations

from handloop.informers.informer_metrics import (
    InformerMetrics,
)
from support.recording_metrics import RecordingMetricsProvider

NAME = "deployments.apps"


def test_every_value_has_its_instrument() -> None:
    """Each instrument of an informer is made under the informer's name."""
    provider = RecordingMetricsProvider()
    instruments = InformerMetrics(NAME, provider)
    instruments.queued_items.set(1)
    instruments.processing_latency.observe(0.5)
    instruments.last_event_timestamp.set(9)
    instruments.quarantined.set(2)
    instruments.handler_panics.inc()
    assert {what for what, *_ in provider.made} == {
        "objects",
        "queued_items",
        "processing_latency",
        "store_resource_version",
        "watch_restarts",
        "last_event_timestamp",
        "quarantined",
        "handler_panics",
    }
    assert provider.made["processing_latency", NAME].values == [0.5]


def test_relists_are_counted_by_reason() -> None:
    """The counter of a reason is made when it first happens."""
    provider = RecordingMetricsProvider()
    instruments = InformerMetrics(NAME, provider)
    for reason in ("expired", "error", "expired"):
        instruments.relisted(reason)
    assert provider.made["relists", NAME, "expired"].count == 2
    assert provider.made["relists", NAME, "error"].count == 1


def test_resource_version_is_published_as_its_last_fifteen_digits() -> None:
    """The empty one is 0; a long one is cut so that a float holds it; what is no number changes nothing."""
    provider = RecordingMetricsProvider()
    instruments = InformerMetrics(NAME, provider)
    for version in ("", "42", "opaque", "91234567890123456"):
        instruments.set_store_resource_version(version)
    assert provider.made["store_resource_version", NAME].values == [0, 42, 234567890123456]


def test_nothing_is_recorded_by_default() -> None:
    """The instruments of the no-op provider take everything without an error."""
    instruments = InformerMetrics(NAME)
    instruments.objects.set(1)
    instruments.processing_latency.observe(1)
    instruments.watch_restarts.inc()
    instruments.relisted("error")
    instruments.set_store_resource_version("5")
