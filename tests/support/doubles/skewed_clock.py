"""A process whose wall clock is wrong."""

from __future__ import annotations

from handloop.testing.fake_clock import FakeClock


class SkewedClock(FakeClock):
    """The time that all share, on a wall clock that is wrong by so much."""

    def __init__(self, shared: FakeClock, skew: float) -> None:
        super().__init__()
        self._shared = shared
        self._skew = skew

    def now(self) -> float:
        return self._shared.now()

    def time(self) -> float:
        return self._shared.time() + self._skew
