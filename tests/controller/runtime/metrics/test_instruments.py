"""The bounds of histograms, and names and labels of instruments."""

from __future__ import annotations

from itertools import pairwise

import pytest

from handloop.controller.runtime.metrics.instruments import (
    B_EXP,
    B_REST,
    B_SIZE,
    B_SMALL,
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
