from __future__ import annotations

import random

import pytest

from handloop.sandbox.cluster.pace import Pace


def test_speed_divides_every_duration() -> None:
    """At speed 4 ten nominal seconds take 2.5."""
    assert Pace(4.0).seconds(10.0) == 2.5


def test_jitter_stays_within_its_range_and_follows_the_seed() -> None:
    """Jitter varies a duration by 0.9 to 1.6, the same way for the same seed."""
    pace = Pace(2.0)
    first = [pace.jittered(1.0, random.Random(seed)) for seed in range(200)]
    again = [pace.jittered(1.0, random.Random(seed)) for seed in range(200)]
    assert first == again
    assert all(0.45 <= seconds <= 0.8 for seconds in first)
    assert max(first) - min(first) > 0.3


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_speed_must_be_positive(speed: float) -> None:
    """A speed that would stop or turn time is refused."""
    with pytest.raises(ValueError, match="above 0"):
        Pace(speed)
