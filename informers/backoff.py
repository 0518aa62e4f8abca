"""
Delays that grow with every attempt.

Follows: apimachinery pkg/util/wait/backoff.go (exponential back-off manager with reset).
"""

from __future__ import annotations

from typing import Final

from handloop.seams.seams import REAL_SEAMS, Seams

_FACTOR: Final = 2.0


class ExponentialBackoff:
    """
    The reflector's back-off. Delays start at initial_seconds and double each time, up to max_seconds.

    A random fraction of each delay is added to it. If more than reset_seconds have passed since construction
    or the last reset, next resets the delay to initial_seconds. This happens even if failures continue: as
    in client-go, a long outage resets the delay about every reset_seconds.

    Threads: used by the thread that waits.
    """

    def __init__(
        self,
        initial_seconds: float,
        max_seconds: float,
        reset_seconds: float,
        *,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self._reset_seconds = reset_seconds
        self._clock = seams.clock
        self._random = seams.random
        self._started_at = seams.clock.now()
        self._seconds = initial_seconds

    def next(self) -> float:
        """Return the seconds to wait before the next attempt."""
        if self._clock.now() - self._started_at > self._reset_seconds:
            self.reset()
        seconds = self._seconds
        self._seconds = min(seconds * _FACTOR, self._max_seconds)
        return seconds + self._random() * seconds

    def reset(self) -> None:
        """Start over with initial_seconds, as if there had been no failures."""
        self._started_at = self._clock.now()
        self._seconds = self._initial_seconds
