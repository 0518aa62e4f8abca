"""The bounds of histograms, and names and labels of instruments."""

from __future__ import annotations

from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.instruments import (
    B_EXP,
    B_REST,
    B_SIZE,
    B_SMALL,
    Instruments,
)


@pytest.mark.parametrize(
    ("bounds", "first", "last", "count"),
    [(B_EXP, 1e-8, 1e3, 12), (B_REST, 0.005, 60, 12), (B_SIZE, 64, 16777216, 11), (B_SMALL, 0.005, 60, 40)],
)
def test_bounds_are_those_of_controller_runtime(
    bounds: tuple[float, ...], first: float, last: float, count: int
) -> None:
    """First, last and how many; they rise. Each of them is compared on the page, in test_metrics.py."""
    assert (bounds[0], bounds[-1], len(bounds)) == (first, last, count)
    assert all(lower < upper for lower, upper in pairwise(bounds))


def test_instruments_are_forgotten_however_they_were_made() -> None:
    """By the common labels, with all values of the others."""
    registry = CollectorRegistry()
    new = Instruments(registry, "thing", "name")
    counter, gauge = new.counter("done_total", "", "how"), new.gauge("size", "")
    histogram = new.histogram("seconds", "", (1.0,), "how")
    for name in ("a", "b"):
        for how in ("well", "badly"):
            counter.labels(name, how).inc()
            histogram.labels(name, how).observe(1)
        gauge.labels(name).set(1)
    new.forget("b")
    left = [sample.labels["name"] for family in registry.collect() for sample in family.samples]
    assert set(left) == {"a"}
    assert registry.get_sample_value("thing_done_total", {"name": "a", "how": "well"}) == 1
