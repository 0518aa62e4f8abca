"""
A token bucket that lets callers reserve ahead.

Follows: golang.org/x/time/rate (Limiter.reserveN) and client-go util/flowcontrol/throttle.go.
"""

from __future__ import annotations

import math
import threading
from typing import Final

from handloop.workqueue.locks import new_lock
from handloop.workqueue.seams import REAL_CLOCK, Clock

_NANOSECONDS: Final = 1e9
_LEAF_RANK: Final = 99


class WaitTooLongError(Exception):
    """The next token comes later than the caller is ready to wait; asking again later can help."""


class TokenBucket:
    """
    Holds up to burst tokens and gains rate tokens per second; starts full.

    State: `_tokens` as of `_updated_at`; below zero it counts the tokens promised to waiting callers.
    Threads: any; one leaf lock, under which nothing but the clock is asked.
    """

    def __init__(self, rate: float, burst: int, clock: Clock = REAL_CLOCK) -> None:
        """
        Make a full bucket.

        Args: rate in tokens per second, `math.inf` for no limit, 0 for no refill; burst 0 means that no token
        ever comes (unless the rate is infinite).
        """
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = new_lock("TokenBucket._lock", _LEAF_RANK)
        self._tokens = float(burst)
        self._updated_at = clock.now()

    def reserve(self) -> float:
        """
        Take a token, possibly one that is still to come.

        Returns: seconds until the token may be used; `math.inf` when it never comes.
        """
        return self._reserve_within(math.inf)

    def try_accept(self) -> bool:
        """Take a token if there is one right away; a refusal changes nothing."""
        return self._reserve_within(0.0) == 0.0

    def accept(self, stop: threading.Event | None = None) -> bool:
        """
        Take a token and wait until it may be used.

        Returns: False when stop was set first; the token stays spent.
        Blocks: until the token is due or stop is set.
        """
        return self.wait(math.inf, stop)

    def wait(self, timeout_seconds: float, stop: threading.Event | None = None) -> bool:
        """
        Take a token that is due within timeout_seconds and wait until it may be used.

        Returns: False when stop was set first; the token stays spent.
        Raises: WaitTooLongError at once, without taking a token, when none is due in time.
        Blocks: until the token is due or stop is set.
        """
        wait_seconds = self._reserve_within(timeout_seconds)
        if wait_seconds > timeout_seconds:
            raise WaitTooLongError(
                f"the next token is due in {wait_seconds:g} s, not within {timeout_seconds:g} s"
            )
        if wait_seconds <= 0:
            return True
        return not self._clock.sleep(wait_seconds, threading.Event() if stop is None else stop)

    def _reserve_within(self, max_wait_seconds: float) -> float:
        """Seconds until the next token; it is taken unless that is more than max_wait_seconds."""
        if self._rate == math.inf:
            return 0.0
        if self._burst < 1:
            return math.inf
        with self._lock:
            # a clock read before another thread's update must not turn time back
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
        # a rounding error below one nanosecond must not refuse a caller that came exactly on time
        return seconds if seconds * _NANOSECONDS >= 1 else 0.0
