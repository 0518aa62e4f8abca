from __future__ import annotations

import pytest

from handloop_learn.waiting import NothingHappenedError, until


def test_a_wait_ends_with_what_it_waits_for() -> None:
    """It looks until something holds."""
    looks = iter([False, False, True])
    until(lambda: next(looks), "the third look")


def test_a_wait_in_vain_names_its_goal() -> None:
    """A chapter never hangs."""
    with pytest.raises(NothingHappenedError, match=r"0\.02 s for the end of time"):
        until(lambda: False, "the end of time", seconds=0.02)
