"""The series of informers."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.informer_metrics import InformerMetricsProvider
from handloop.informers.relist_policy import RelistReason


def test_an_informer_tells_of_its_cache_and_its_watch() -> None:
    """Under its name: objects, those that do not fit, watches after the first, lists by reason."""
    registry = CollectorRegistry()
    told = InformerMetricsProvider(registry).for_informer("foos")
    told.objects.set(3)
    told.quarantined.set(1)
    told.watch_restarts.inc()
    told.relists[RelistReason.EXPIRED].inc()
    told.set_store_resource_version("12345678901234567890")

    def value(series: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"informer_{series}", {"name": "foos", **labels})

    assert value("cached_objects") == 3
    assert value("quarantined_objects") == 1
    assert value("watch_restarts_total") == 1
    assert value("relists_total", reason="expired") == 1
    assert value("store_resource_version") == 678901234567890


def test_every_reason_for_a_list_is_there_from_the_start() -> None:
    """At 0: a counter that begins at 1 shows no increase."""
    registry = CollectorRegistry()
    InformerMetricsProvider(registry).for_informer("foos")
    for reason in RelistReason:
        found = registry.get_sample_value("informer_relists_total", {"name": "foos", "reason": reason})
        assert found == 0, reason
