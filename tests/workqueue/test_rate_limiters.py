from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloop.controller.foo import controller as foo_controller
from handloop.controller.runtime.sources import reconcile_queue
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    TokenBucket,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
)

MS = 0.001
MINUTE = 60.0
HOUR = 3600.0


def whens(limiter: RateLimiter[str], item: str, count: int) -> list[float]:
    return [limiter.when(item) for _ in range(count)]


class StepRateLimiter:
    """5 ms for 100 calls, then 1000 s."""

    def __init__(self) -> None:
        self.calls = 0
        self.forgotten: list[str] = []

    def when(self, item: str) -> float:
        self.calls += 1
        return 5 * MS if self.calls <= 100 else 1000.0

    def forget(self, item: str) -> None:
        self.forgotten.append(item)

    def num_requeues(self, item: str) -> int:
        return self.calls


def test_exponential_doubles_per_item_until_forgotten() -> None:
    """
    Delays double per item, independently, and start over after forget.

    Follows TestItemExponentialFailureRateLimiter.
    """
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(1 * MS, 1)
    assert whens(limiter, "one", 5) == pytest.approx([1 * MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS])
    assert limiter.num_requeues("one") == 5
    assert whens(limiter, "two", 2) == pytest.approx([1 * MS, 2 * MS])
    assert limiter.num_requeues("two") == 2

    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert limiter.num_requeues("two") == 2
    assert limiter.when("one") == pytest.approx(1 * MS)


@pytest.mark.parametrize(("base", "maximum"), [(1 * MS, 1000), (MINUTE, 1000 * HOUR)], ids=["ms", "minutes"])
def test_exponential_stops_at_its_maximum(base: float, maximum: float) -> None:
    """
    The sixth delay is 32 times the first; after 1100 more, too many for a float, it is the maximum.

    Follows TestItemExponentialFailureRateLimiterOverFlow.
    """
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(base, maximum)
    whens(limiter, "one", 5)
    assert limiter.when("one") == pytest.approx(32 * base)

    whens(limiter, "overflow", 1100)
    assert whens(limiter, "overflow", 2) == [maximum, maximum]
    assert limiter.num_requeues("overflow") == 1102


def test_a_limiter_keeps_nothing_of_what_was_forgotten() -> None:
    """Nor of a key that never failed: a map of all keys would grow without end."""
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(1 * MS, 1)
    limiter.when("one")
    limiter.forget("one")
    limiter.forget("two")
    assert limiter._failures == {}


def test_fast_slow() -> None:
    """
    max_fast_attempts fast delays, then slow ones, until forgotten.

    Follows TestItemFastSlowRateLimiter.
    """
    limiter: ItemFastSlowRateLimiter[str] = ItemFastSlowRateLimiter(5 * MS, 10, 3)
    assert whens(limiter, "one", 5) == [5 * MS, 5 * MS, 5 * MS, 10, 10]
    assert limiter.num_requeues("one") == 5
    assert whens(limiter, "two", 2) == [5 * MS, 5 * MS]

    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == 5 * MS


def test_max_of_takes_the_strictest() -> None:
    """The longest delay and the largest count; forget reaches all. Follows TestMaxOfRateLimiter."""
    limiter: MaxOfRateLimiter[str] = MaxOfRateLimiter(
        ItemFastSlowRateLimiter(5 * MS, 3, 3), ItemExponentialFailureRateLimiter(1 * MS, 1)
    )
    assert whens(limiter, "one", 5) == [5 * MS, 5 * MS, 5 * MS, 3, 3]
    assert limiter.num_requeues("one") == 5
    assert whens(limiter, "two", 2) == [5 * MS, 5 * MS]
    assert limiter.num_requeues("two") == 2

    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == 5 * MS


def test_max_of_nothing_does_not_wait() -> None:
    """Without limiters there is no delay and no count."""
    limiter: MaxOfRateLimiter[str] = MaxOfRateLimiter()

    assert limiter.when("one") == 0
    assert limiter.num_requeues("one") == 0


def test_with_max_wait_bounds_the_delay() -> None:
    """
    Longer delays are cut to the maximum while the inner limiter goes on counting.

    Follows TestWithMaxWaitRateLimiter.
    """
    inner = StepRateLimiter()
    limiter: WithMaxWaitRateLimiter[str] = WithMaxWaitRateLimiter(inner, 500)
    assert whens(limiter, "one", 200) == [5 * MS] * 100 + [500] * 100

    limiter.forget("one")
    assert inner.forgotten == ["one"]
    assert limiter.num_requeues("one") == 200


def test_bucket_delays_what_exceeds_its_burst() -> None:
    """The first 100 do not wait, the next wait for their tokens; a bucket counts no requeues."""
    limiter: BucketRateLimiter[str] = BucketRateLimiter(10, 100, clock=FakeClock())
    assert whens(limiter, "one", 100) == [0.0] * 100
    assert whens(limiter, "two", 2) == pytest.approx([0.1, 0.2])
    assert limiter.num_requeues("one") == 0

    limiter.forget("one")
    assert limiter.when("one") == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("bucket", "burst", "waits"),
    [({}, 100, [0.1, 0.2]), ({"rate": 50, "burst": 300}, 300, [0.02, 0.04])],
    ids=["default", "sample-controller"],
)
def test_default_controller_limiter_limits_all_items_together(
    bucket: dict[str, int], burst: int, waits: list[float]
) -> None:
    """The bucket's burst of items is not held up, the next ones wait for their tokens."""
    limiter = default_controller_rate_limiter(**bucket, clock=FakeClock())
    delays = [limiter.when(f"item-{n}") for n in range(burst + 2)]

    assert delays == pytest.approx([0.005] * burst + waits)


def test_max_of_takes_a_token_also_when_another_dominates() -> None:
    """The bucket is charged although the exponential delay is longer."""
    bucket: BucketRateLimiter[str] = BucketRateLimiter(1, 2, clock=FakeClock())
    limiter: MaxOfRateLimiter[str] = MaxOfRateLimiter(ItemExponentialFailureRateLimiter(60, 600), bucket)
    assert whens(limiter, "one", 2) == [60, 120]

    assert bucket.when("other") == pytest.approx(1)


def test_an_empty_bucket_never_lets_go() -> None:
    """A burst of 0 means an infinite delay, not an error."""
    limiter: BucketRateLimiter[str] = BucketRateLimiter(10, 0, clock=FakeClock())

    assert limiter.when("one") == math.inf


# -- the bucket


def test_waits_for_tokens_take_their_time() -> None:
    """16 waits at 10 per second with a burst of 5 take 1.1 s. Follows TestThrottle."""
    clock = FakeClock()
    bucket = TokenBucket(10, 5, clock)
    for _ in range(16):
        clock.advance(bucket.reserve())

    assert clock.now() == pytest.approx(1.1)


def test_no_precision_drift() -> None:
    """A rate just below 1 per second never refuses a caller that comes every 2 s."""
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
def test_coming_back_after_retry_after_is_coming_on_time(
    rate: float, burst: int, start: float, count: int
) -> None:
    """A caller that waits as long as its reservation finds its token: rounding never adds a second wait."""
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


def test_the_default_pair_is_client_gos() -> None:
    """5 ms doubling up to 655.36 s at the 18th failure, then 1000 s; written once, for every queue."""
    limiters: list[RateLimiter[Any]] = [
        ItemExponentialFailureRateLimiter(),
        default_controller_rate_limiter(),
        reconcile_queue.default_rate_limiter(),
        foo_controller.default_rate_limiter(),
    ]
    expected = pytest.approx([min(5 * MS * 2**n, 1000) for n in range(20)])
    for limiter in limiters:
        assert whens(limiter, "a", 20) == expected
