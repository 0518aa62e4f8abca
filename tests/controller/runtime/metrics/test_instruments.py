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


def test_instruments_share_prefix_and_labels() -> None:
    """The common labels come first, and each instrument may have more."""
    registry = CollectorRegistry(auto_describe=True)
    new = Instruments(registry, "shop", "name")
    new.counter("sales_total", "Sales", "kind").labels("a", "b").inc()
    new.gauge("open", "Open").labels("a").set(2)
    new.histogram("wait_seconds", "Wait", (1.0, 2.0), "kind").labels("a", "b").observe(1.5)
    assert registry.get_sample_value("shop_sales_total", {"name": "a", "kind": "b"}) == 1
    assert registry.get_sample_value("shop_open", {"name": "a"}) == 2
    bucket = {"name": "a", "kind": "b", "le": "2.0"}
    assert registry.get_sample_value("shop_wait_seconds_bucket", bucket) == 1
