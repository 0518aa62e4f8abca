"""
What an informer publishes.

Upstream's informers get a name by hand, and publish only under a unique one. Ours are named by the factory,
which makes one per kind; a suffix separates several factories, and a registry takes one manager.
"""

from __future__ import annotations

from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.relist_policy import RelistReason
from support.doubles.recording_metrics import Instrument


def test_resource_version_is_published_as_its_last_fifteen_digits() -> None:
    """The empty one is 0; a long one is cut so that a float holds it; one without digits changes nothing."""
    gauge = Instrument()
    instruments = InformerMetrics(store_resource_version=gauge)
    for version in ("", "42", "opaque", "91234567890123456"):
        instruments.set_store_resource_version(version)
    assert gauge.values == [0, 42, 234567890123456]


def test_nothing_is_recorded_by_default() -> None:
    """The instruments take everything without an error."""
    instruments = InformerMetrics()
    instruments.objects.set(1)
    instruments.processing_latency.observe(1)
    instruments.watch_restarts.inc()
    instruments.relists[RelistReason.ERROR].inc()
    instruments.set_store_resource_version("5")
