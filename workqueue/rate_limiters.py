"""
Rate limiters, which decide how long a failed item waits before its next attempt.

They delay only retries: neither a handler's `add` nor a client's request uses one. By default, client-go
combines two limiters: one delays each item by 5 ms to 1000 s, the other limits all items together to 10
retries a second, after a burst of 100. sample-controller and Foo use 50 a second and a burst of 300.

Follows: client-go util/workqueue/default_rate_limiters.go. The token bucket follows golang.org/x/time/rate
(Limiter.reserveN) and client-go util/flowcontrol/throttle.go. Durations are float seconds.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Final, Generic, Protocol, TypeVar

from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock

T = TypeVar("T", bound=Hashable)
T_contra = TypeVar("T_contra", bound=Hashable, contravariant=True)

_NANOSECONDS: Final = 1e9
_MAX_EXPONENT: Final = 1023  # 2.0 ** 1024 raises OverflowError, whereas a product that is too large is inf


class TokenBucket:
    """
    A bucket that holds up to burst tokens, gains rate tokens per second, and starts full.

    State: `_tokens` is the number of tokens at `_updated_at`. If it is negative, that many tokens are
    reserved for waiting callers.
    Threads: usable from any thread. Lock: while `_lock` is held, only the clock is read.
    """

    def __init__(self, rate: float, burst: int, clock: Clock = REAL_CLOCK) -> None:
        """
        Create a full bucket.

        Args: rate is in tokens per second: `math.inf` means no limit, and 0 no new tokens. If burst is 0 and
        rate is finite, there is never a token.
        """
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = new_lock("TokenBucket._lock", 99)
        self._tokens = float(burst)
        self._updated_at = clock.now()

    def reserve(self) -> float:
        """
        Reserve a token, even if it becomes available only later.

        Returns: the seconds until the token can be used, or `math.inf` if it never can.
        """
        return self._reserve_within(math.inf)

    def try_accept(self) -> bool:
        """Take a token if one is available now, and return whether one was. Otherwise, change nothing."""
        return self._reserve_within(0.0) == 0.0

    def _reserve_within(self, max_wait_seconds: float) -> float:
        """Return the seconds until the next token. If this is at most max_wait_seconds, reserve the token."""
        if self._rate == math.inf:
            return 0.0
        if self._burst < 1:
            return math.inf
        with self._lock:
            # The bucket must not go back in time if the clock is behind another thread's update.
            now = max(self._clock.now(), self._updated_at)
            tokens = min(self._burst, self._tokens + (now - self._updated_at) * self._rate) - 1
            wait_seconds = self._seconds_for(-tokens)
            if wait_seconds <= max_wait_seconds:
                self._tokens, self._updated_at = tokens, now
            return wait_seconds

    def _seconds_for(self, missing_tokens: float) -> float:
        if missing_tokens <= 0:
            return 0.0
        if self._rate <= 0:
            return math.inf
        seconds = missing_tokens / self._rate
        # Ignore less than one nanosecond, so that a rounding error does not refuse a caller that is on time.
        return seconds if seconds * _NANOSECONDS >= 1 else 0.0


class RateLimiter(Protocol[T_contra]):
    """
    Decides how long each failed item waits before its next attempt.

    A limiter is thread-safe. It remembers an item's failures until forget is called for the item.
    """

    def when(self, item: T_contra) -> float:
        """Count one more failure, and return the seconds to wait before the next attempt."""

    def forget(self, item: T_contra) -> None:
        """Reset an item's count, because the item succeeded or will not be retried."""

    def num_requeues(self, item: T_contra) -> int:
        """Return how many failures have been counted for an item."""


class _FailureCounts(Generic[T]):
    """Counts failures per item. State: `_lock` (rank 90) guards `_failures`, in which no count is 0."""

    def __init__(self) -> None:
        self._lock = new_lock("FailureCounts._lock", 90)
        self._failures: dict[T, int] = {}

    def forget(self, item: T) -> None:
        """Drop the count of item."""
        with self._lock:
            self._failures.pop(item, None)

    def num_requeues(self, item: T) -> int:
        """Return how many failures have been counted for an item."""
        with self._lock:
            return self._failures.get(item, 0)

    def _count(self, item: T) -> int:
        """Count one more failure, and return the number of earlier ones."""
        with self._lock:
            before = self._failures.get(item, 0)
            self._failures[item] = before + 1
            return before


class ItemExponentialFailureRateLimiter(_FailureCounts[T]):
    """Waits base_seconds after an item's first failure, and doubles the wait each time, up to max_seconds."""

    def __init__(self, base_seconds: float = 0.005, max_seconds: float = 1000.0) -> None:
        """Create a limiter. The defaults are those that client-go uses for controllers' retries."""
        super().__init__()
        self._base_seconds = base_seconds
        self._max_seconds = max_seconds

    def when(self, item: T) -> float:
        """Count one more failure, and return the seconds to wait before the next attempt."""
        exponent = min(self._count(item), _MAX_EXPONENT)
        return min(self._base_seconds * 2.0**exponent, self._max_seconds)


class ItemFastSlowRateLimiter(_FailureCounts[T]):
    """Waits fast_seconds after each of an item's first max_fast_attempts failures, then slow_seconds."""

    def __init__(self, fast_seconds: float, slow_seconds: float, max_fast_attempts: int) -> None:
        super().__init__()
        self._fast_seconds = fast_seconds
        self._slow_seconds = slow_seconds
        self._max_fast_attempts = max_fast_attempts

    def when(self, item: T) -> float:
        """Count one more failure, and return the seconds to wait before the next attempt."""
        return self._fast_seconds if self._count(item) < self._max_fast_attempts else self._slow_seconds


class BucketRateLimiter(Generic[T]):
    """Limits all items with one bucket. Each retry reserves a token, and waits until it can use the token."""

    def __init__(self, rate: float, burst: int, *, clock: Clock = REAL_CLOCK) -> None:
        self._bucket = TokenBucket(rate, burst, clock)

    def when(self, _item: T) -> float:
        """Reserve a token. Return the seconds until it is available, or `math.inf` if it never is."""
        return self._bucket.reserve()

    def forget(self, _item: T) -> None:
        """Do nothing, because a bucket does not count per item."""

    def num_requeues(self, _item: T) -> int:
        """Return 0, because a bucket does not count per item."""
        return 0


class MaxOfRateLimiter(Generic[T]):
    """Combines limiters. Each one counts every failure, and the longest of their delays is used."""

    def __init__(self, *limiters: RateLimiter[T]) -> None:
        self._limiters = limiters

    def when(self, item: T) -> float:
        """Count one more failure in each limiter, and return the seconds to wait before the next attempt."""
        # Call every limiter, because a token must be reserved even if another limiter's delay is longer.
        return max([limiter.when(item) for limiter in self._limiters], default=0.0)

    def forget(self, item: T) -> None:
        """Drop the item's count in each limiter."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """Return the largest of the limiters' counts."""
        return max((limiter.num_requeues(item) for limiter in self._limiters), default=0)


class WithMaxWaitRateLimiter(Generic[T]):
    """Uses another limiter's delays, but limits each of them to max_seconds."""

    def __init__(self, inner: RateLimiter[T], max_seconds: float) -> None:
        self._inner = inner
        self._max_seconds = max_seconds

    def when(self, item: T) -> float:
        """Count one more failure, and return the seconds to wait before the next attempt."""
        return min(self._inner.when(item), self._max_seconds)

    def forget(self, item: T) -> None:
        """Drop the count of item."""
        self._inner.forget(item)

    def num_requeues(self, item: T) -> int:
        """Return how many failures have been counted for an item."""
        return self._inner.num_requeues(item)


def default_controller_rate_limiter(
    *, rate: float = 10.0, burst: int = 100, clock: Clock = REAL_CLOCK
) -> MaxOfRateLimiter[Hashable]:
    """
    Return client-go's default: an exponential delay per item, combined with one bucket for all items.

    Args: rate and burst configure the bucket; sample-controller uses 50 and 300.
    """
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(), BucketRateLimiter(rate, burst, clock=clock))
