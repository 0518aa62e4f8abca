"""The series of informers."""

from __future__ import annotations

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import ObjectMeta
from handloop.controller.runtime.metrics.informer_metrics import (
    SAMPLE,
    CacheState,
    InformerMetricsProvider,
    estimated_bytes,
)
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.relist_policy import RelistReason
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.testing.fake_clock import FakeClock
from support.doubles.fake_lister_watcher import FakeListerWatcher


def test_an_informer_reports_its_cache_and_its_watch() -> None:
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


def test_every_measurement_of_an_informer_has_an_instrument() -> None:
    """A field that is left out would keep the default, which records nothing."""
    told = InformerMetricsProvider(CollectorRegistry()).for_informer("foos")
    nothing = InformerMetrics()
    assert [name for name in told._fields if getattr(told, name) == getattr(nothing, name)] == []


# -- the size of caches


def deployments(count: int, *, name_length: int = 5) -> list[Deployment]:
    """As many, with names of that length."""
    return [
        Deployment(metadata=ObjectMeta(name=f"{number:0{name_length}}", namespace="default"))
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [1, SAMPLE - 1, SAMPLE, SAMPLE + 1, 1000])
def test_objects_of_one_size_are_measured_exactly(count: int) -> None:
    """However many there are: the sample stands for all."""
    objects = deployments(count)
    assert estimated_bytes(objects) == len(msgspec.json.encode(objects[0])) * count


def test_the_sample_is_taken_from_everywhere() -> None:
    """Half of them large: neither the first nor the last ones decide."""
    objects = deployments(500) + deployments(500, name_length=1000)
    exact = sum(len(msgspec.json.encode(obj)) for obj in objects)
    assert estimated_bytes(objects) == pytest.approx(exact, rel=0.1)


def test_each_informer_has_its_series() -> None:
    """Computed at the time of the scrape, from the store's content then."""
    informer = SharedIndexInformer(FakeListerWatcher(), Deployment)
    registry = CollectorRegistry(auto_describe=True)
    registry.register(CacheState(lambda: [informer], FakeClock()))

    def value() -> float | None:
        return registry.get_sample_value("informer_cached_bytes", {"name": "deployments.apps"})

    assert value() == 0.0
    objects = deployments(3)
    for obj in objects:
        informer.indexer.add(obj)
    assert value() == estimated_bytes(objects)


def test_nothing_of_an_informer_that_has_ended_is_shown() -> None:
    """Of whatever instruments there are, and of no other informer: for_informer alone names each of them."""
    registry = CollectorRegistry()
    provider = InformerMetricsProvider(registry)
    kept, gone = provider.for_informer("foos"), provider.for_informer("bars")
    for told in (kept, gone):
        told.relists[RelistReason.ERROR].inc()
        told.processing_latency.observe(1)
    names = [sample.labels["name"] for family in registry.collect() for sample in family.samples]
    provider.forget("bars")
    left = [sample.labels["name"] for family in registry.collect() for sample in family.samples]
    assert left == [name for name in names if name == "foos"]
