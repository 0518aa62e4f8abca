"""How large a cache is, by a sample."""

from __future__ import annotations

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import ObjectMeta
from handloop.controller.runtime.metrics.informer_metrics import SAMPLE, CacheState, estimated_bytes
from handloop.informers.shared_informer import SharedIndexInformer
from support.fake_clock import FakeClock
from support.fake_lister_watcher import FakeListerWatcher


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


def test_an_empty_cache_takes_nothing() -> None:
    """There is nothing to divide by."""
    assert estimated_bytes([]) == 0.0


def test_each_informer_has_its_series() -> None:
    """Computed at the time of the scrape, from what is in its store then."""
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
