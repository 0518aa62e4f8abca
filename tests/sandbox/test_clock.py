from __future__ import annotations

import time

from handloop.sandbox.clock import RealClock


def test_the_real_clock_starts_at_the_wall_and_never_goes_back() -> None:
    """It begins with the wall clock's time and moves on."""
    before = time.time()
    clock = RealClock()
    first, second = clock.time(), clock.time()
    assert abs(first - before) < 5
    assert second >= first
