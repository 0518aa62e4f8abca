"""
Delays that grow from try to try.

Follows: apimachinery pkg/util/wait/backoff.go (Backoff, exponential back-off manager with reset).
"""

from __future__ import annotations

import math
import random as _random
from collections.abc import Callable

from handloop.workqueue.clock import REAL_CLOCK, Clock


class Backoff:
    """
    A series of delays: duration, then times factor each, up to cap; plus up to jitter times itself each.

    State: `duration_seconds` is the next delay without jitter, `steps` how often it may still grow.
    Threads: the one that waits.
    """

    def __init__(
        self,
        duration_seconds: float,
        *,
        factor: float = 1.0,
        jitter: float = 0.0,
        steps: int = 1,
        cap_seconds: float = math.inf,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self.duration_seconds = duration_seconds
        self.steps = steps
        self._factor = factor
        self._jitter = jitter
        self._cap_seconds = cap_seconds
        self._random = random

    def step(self) -> float:
        """The next delay in seconds. When the steps are used up or the cap is reached it grows no more."""
        duration = self.duration_seconds
        if self.steps > 0:
            self.steps -= 1
            self._grow()
        return jittered(duration, self._jitter, self._random)

    def _grow(self) -> None:
        self.duration_seconds *= self._factor
        if self.duration_seconds > self._cap_seconds:
            self.duration_seconds = self._cap_seconds
            self.steps = 0


class ExponentialBackoff:
    """
    The reflector's back-off: starts over when reset_seconds have passed since it last started over.

    That count runs from construction and moves only when it starts over, not with each delay: under lasting
    failure the delay falls back to initial_seconds about every reset_seconds, as in client-go.

    Threads: the one that waits.
    """

    def __init__(
        self,
        initial_seconds: float,
        max_seconds: float,
        reset_seconds: float,
        factor: float = 2.0,
        jitter: float = 1.0,
        *,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self._reset_seconds = reset_seconds
        self._factor = factor
        self._jitter = jitter
        self._clock = clock
        self._random = random
        self._started_at = clock.now()
        self._backoff = self._initial()

    def next(self) -> float:
        """Seconds to wait before the next try."""
        if self._clock.now() - self._started_at > self._reset_seconds:
            self.reset()
        return self._backoff.step()

    def reset(self) -> None:
        """Start over: what is to come has nothing to do with what there was."""
        self._started_at = self._clock.now()
        self._backoff = self._initial()

    def _initial(self) -> Backoff:
        return Backoff(
            self._initial_seconds,
            factor=self._factor,
            jitter=self._jitter,
            # more than enough to reach the cap with any factor from 2 up; client-go counts the same way
            steps=math.ceil(self._max_seconds / self._initial_seconds),
            cap_seconds=self._max_seconds,
            random=self._random,
        )


def jittered(seconds: float, jitter: float, random: Callable[[], float]) -> float:
    """Seconds plus a uniform share, from 0 up to but without jitter, of itself."""
    return seconds + random() * jitter * seconds if jitter > 0 else seconds
