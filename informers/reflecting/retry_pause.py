"""
How long a reflector waits before it tries again.

Each wait is longer than the last, and at least as long as the server asked for. A server that is gone is back
for all who share a Reachability as soon as one request is answered: the others wait no longer, and what it
says then is the beginning of something new, so the back-off is, too.
"""

from __future__ import annotations

import random as _random
import threading
from collections.abc import Callable
from typing import Final, Protocol

from handloop.client.errors import APIError
from handloop.client.reachability import Reachability
from handloop.informers.reflecting.failure_cause import cause_of
from handloop.workqueue.backoff import ExponentialBackoff
from handloop.workqueue.clock import Clock

# client-go's numbers; arbitrary
BACKOFF_INITIAL_SECONDS: Final = 0.8
BACKOFF_MAX_SECONDS: Final = 30.0
BACKOFF_RESET_SECONDS: Final = 120.0

# waits shorter than this are not worth cutting short
_LONG_SECONDS: Final = 2.0
# a server that comes and goes, or a stream that is cut again and again while others are not, starts the
# back-off anew no more often, so that it still counts
_RETURN_SECONDS: Final = 10.0
# over how long those who waited come back, so that they do not all come at once
_SPREAD_SECONDS: Final = 1.0
# how much of a server's Retry-After is believed
_RETRY_AFTER_MAX_SECONDS: Final = 120.0


class Backoff(Protocol):
    """Growing delays."""

    def next(self) -> float:
        """Seconds to wait before the next try."""

    def reset(self) -> None:
        """Start over with the shortest."""


class RetryPause:
    """
    The waits of one reflector.

    State: _gone = the server has not been seen since it was found gone; _returned_at = when it last was back.
           retry_at (as Clock.now() counts, None = not waiting) is for others to read, one step behind.
    Threads: the reflector's.
    """

    def __init__(
        self,
        backoff: Backoff,
        *,
        clock: Clock,
        stop: threading.Event,
        reachability: Reachability | None = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        """Args: reachability of the server, None = waits are never cut short; whoever sets stop wakes it."""
        self._backoff = backoff
        self._clock = clock
        self._stop = stop
        self._reachability = reachability
        self._random = random
        self._gone = False
        self._returned_at = -_RETURN_SECONDS
        self.retry_at: float | None = None

    def seconds(self, error: Exception | None, *, gone: bool) -> float:
        """
        How long to wait after this error; ask once per error.

        Args: error None = nothing is wrong, merely wait; gone = the server is not there.
        """
        if gone:
            self._gone = True
        elif error is not None:
            self.server_answered()
        delay = self._backoff.next()
        cause = cause_of(error)
        if isinstance(cause, APIError) and cause.retry_after_seconds is not None:
            return max(delay, min(cause.retry_after_seconds, _RETRY_AFTER_MAX_SECONDS))
        return delay

    def wait(self, seconds: float, *, gone: bool) -> None:
        """
        Wait.

        Args: gone = until the server is back, if that is earlier.
        Blocks: until then, or until the reflector is stopped.
        """
        server, began_at = self._reachability, self._clock.now()
        self.retry_at = began_at + seconds
        if server is None or not gone or seconds < _LONG_SECONDS or self._has_just_returned():
            self._clock.sleep(seconds, self._stop)
        elif server.wait_for_return(seconds, self._stop):
            self.server_answered()
            now = self._clock.now()
            self.retry_at = min(now + self._random() * _SPREAD_SECONDS, began_at + seconds)
            self._clock.sleep(self.retry_at - now, self._stop)
        self.retry_at = None

    def server_answered(self) -> None:
        """The server is there, whatever it says."""
        if self._gone and not self._has_just_returned():
            self._returned_at = self._clock.now()
            self._backoff.reset()
        self._gone = False

    def _has_just_returned(self) -> bool:
        return self._clock.now() < self._returned_at + _RETURN_SECONDS


def default_backoff(clock: Clock, random: Callable[[], float]) -> Backoff:
    """client-go's reflector back-off: 0.8 s to 30 s, each with up to as much again on top."""
    return ExponentialBackoff(
        BACKOFF_INITIAL_SECONDS, BACKOFF_MAX_SECONDS, BACKOFF_RESET_SECONDS, clock=clock, random=random
    )
