"""The token bucket. FC-10 has no subject here: callers sleep as long as reserve says, without a deadline."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloop.workqueue.rate_limiters import TokenBucket
from support.fake_clock import FakeClock


def test_burst_then_refusal() -> None:
    """FC-07: a burst of 3 is accepted, the fourth is refused. Follows TestBasicThrottle."""
    bucket = TokenBucket(1, 3, FakeClock())

    assert [bucket.try_accept() for _ in range(4)] == [True, True, True, False]


def test_tokens_come_back_with_time() -> None:
    """FC-08: a burst of 1 is used up, and there again 2 s later. Follows TestIncrementThrottle."""
    clock = FakeClock()
    bucket = TokenBucket(1, 1, clock)
    assert [bucket.try_accept() for _ in range(2)] == [True, False]
    clock.advance(2)

    assert [bucket.try_accept() for _ in range(2)] == [True, False]


def test_waits_for_tokens_take_their_time() -> None:
    """FC-09: 16 waits at 10 per second with a burst of 5 take 1.1 s. Follows TestThrottle."""
    clock = FakeClock()
    bucket = TokenBucket(10, 5, clock)
    for _ in range(16):
        clock.advance(bucket.reserve())

    assert clock.now() == pytest.approx(1.1)


def test_no_precision_drift() -> None:
    """FC-11: a rate just below 1 per second never refuses a caller who comes every 2 s."""
    clock = FakeClock(start=1234.5)
    bucket = TokenBucket(1 / 1.031425, 1, clock)
    accepted = []
    for _ in range(60):
        clock.advance(2)
        accepted.append(bucket.try_accept())

    assert accepted == [True] * 60


@given(
    rate=st.floats(0.001, 1000),
    burst=st.integers(1, 50),
    start=st.floats(0, 1e6),
    count=st.integers(1, 200),
)
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_coming_back_when_told_is_coming_on_time(rate: float, burst: int, start: float, count: int) -> None:
    """Whoever waits as long as a reservation says finds its token: rounding never adds a second wait."""
    clock = FakeClock(start=start)
    bucket = TokenBucket(rate, burst, clock)
    for _ in range(burst):
        assert bucket.try_accept()
    for _ in range(count):
        # enough for one token, up to the resolution of the clock at that time
        clock.advance(1 / rate + math.ulp(clock.now()))
        assert bucket.try_accept()


def test_reservations_queue_up() -> None:
    """Each reservation waits one interval longer, and time passing shortens the wait of the next."""
    clock = FakeClock()
    bucket = TokenBucket(2, 1, clock)
    assert [bucket.reserve() for _ in range(3)] == pytest.approx([0, 0.5, 1])
    clock.advance(1)

    assert bucket.reserve() == pytest.approx(0.5)


def test_tokens_never_exceed_the_burst() -> None:
    """A long pause is worth no more than the burst."""
    clock = FakeClock()
    bucket = TokenBucket(10, 2, clock)
    clock.advance(3600)

    assert [bucket.try_accept() for _ in range(3)] == [True, True, False]


def test_unlimited_never_and_no_refill() -> None:
    """An infinite rate never waits, burst 0 never accepts, rate 0 gives its burst and no more."""
    clock = FakeClock()
    unlimited, never, once = (TokenBucket(r, b, clock) for r, b in ((math.inf, 0), (10, 0), (0, 1)))

    assert [unlimited.reserve() for _ in range(3)] == [0, 0, 0]
    assert (never.reserve(), never.try_accept()) == (math.inf, False)
    assert [once.reserve() for _ in range(2)] == [0, math.inf]


def test_time_does_not_turn_back() -> None:
    """A clock that is behind the last update neither adds nor takes tokens."""
    clock = FakeClock()
    bucket = TokenBucket(1, 2, clock)
    assert bucket.try_accept()
    clock.advance(-10)

    assert [bucket.try_accept() for _ in range(2)] == [True, False]
