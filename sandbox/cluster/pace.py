"""How fast simulated time passes, and how regularly."""

from __future__ import annotations

import random
from dataclasses import dataclass

_LEAST = 0.9
_MOST = 1.6  # three pods side by side are ready 2 to 4 s after their Deployment was created


@dataclass(frozen=True, slots=True)
class Pace:
    """Turns the seconds of a nominal timeline into real ones; speed 10 = ten times faster."""

    speed: float = 1.0

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise ValueError(f"speed must be above 0, got {self.speed}")

    def seconds(self, nominal: float) -> float:
        """Nominal seconds at this speed: deadlines and back-offs."""
        return nominal / self.speed

    def jittered(self, nominal: float, source: random.Random) -> float:
        """The same, varied by 0.9 to 1.6: what starts together does not finish together."""
        return self.seconds(nominal) * source.uniform(_LEAST, _MOST)
