"""
Until when a reconcile may work: asked by those who work, as nobody can stop a thread from outside.

What a server asks to wait for (Retry-After) is not spent in a worker: its requests have little patience, and
the name goes back into the queue, with that wait as its delay. So a reconcile knows its deadline, and a
request does not have to.
"""

from __future__ import annotations

import math
import threading
from typing import Final

from handloop.controller.runtime.reconcile_errors import DeadlineExceededError
from handloop.workqueue.clock import REAL_CLOCK, Clock

PATIENCE_SECONDS: Final = 2.0
"""What a request of a worker may wait for the server in all; a busy one asks for a second at first."""


class Deadline:
    """
    A point in time, and a stop that brings it forward. Threads: any.

    A reconcile that works in steps, or waits, asks between them; each request to the server has a limit of
    its own.
    """

    __slots__ = ("_at", "_clock", "_stop")

    def __init__(
        self,
        seconds: float | None = None,
        *,
        stop: threading.Event | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """Args: seconds from now on, None = only the stop counts; stop is that of the program."""
        self._clock = clock
        self._at = math.inf if seconds is None else clock.now() + seconds
        self._stop = threading.Event() if stop is None else stop

    def remaining(self) -> float:
        """Seconds left, at least 0; infinity when there is no limit."""
        return 0.0 if self._stop.is_set() else max(0.0, self._at - self._clock.now())

    def passed(self) -> bool:
        """Whether the time is up, whatever the program does."""
        return self._clock.now() >= self._at

    def exceeded(self) -> bool:
        """Whether to give up: the time is up, or the program stops."""
        return self._stop.is_set() or self.passed()

    def check(self) -> None:
        """
        Return if there is time left.

        Raises: DeadlineExceededError, for the reconcile to be retried.
        """
        if self.exceeded():
            raise DeadlineExceededError("stopping" if self._stop.is_set() else "reconcile deadline exceeded")

    def sleep(self, seconds: float) -> bool:
        """
        Wait, at most until the deadline.

        Returns: False when that was too long a wait: exceeded() holds.
        """
        self._clock.sleep(min(seconds, self.remaining()), self._stop)
        return not self.exceeded()
