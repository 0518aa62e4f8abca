"""The cycle collector's pace."""

from __future__ import annotations

import gc

from handloop.controller.runtime.life.collector import YOUNG_THRESHOLD, relax_collector


def test_only_the_young_threshold_is_raised() -> None:
    """The collector stays on, and the older generations keep their pace."""
    before = gc.get_threshold()
    try:
        relax_collector()
        assert gc.isenabled()
        assert gc.get_threshold() == (YOUNG_THRESHOLD, *before[1:])
    finally:
        gc.set_threshold(*before)
