"""
How a reconcile ends, and how long it may take.

A reconcile is level-triggered: it gets an object or a name, reads the current state, and makes the cluster
match. It returns when nothing is left to do for now, and raises an error to be called again with back-off.
Follows: controller-runtime pkg/reconcile.
"""

from __future__ import annotations

import math
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from handloop.seams.clock import REAL_CLOCK, Clock


class ReconcileError(Exception):
    """
    An expected failure. It is retried with back-off and logged without a stack; other errors are treated as
    bugs.

    Fields: retry_seconds, the shortest time before the retry.
    """

    retry_seconds: float = 0.0


class WaitError(ReconcileError):
    """
    Something else must happen first. This is not a failure, and it is not logged as an error.

    A watch event about it triggers the next reconcile; if none comes, it follows after retry_seconds.
    """

    retry_seconds = 30.0


class CacheNotFilledError(WaitError):
    """A cache's first list fails. The retry comes soon, because no event tells when the list works again."""

    retry_seconds = 5.0


class TerminalError(ReconcileError):
    """
    A retry cannot help, so the name waits until the object, or something it depends on, changes.

    The text is the reason, for the log and for the condition Stalled. `raise TerminalError("...") from error`
    keeps the cause.

    Fields: is_told, whether the object had that condition with that text before the reconcile, so it is not
    news.
    """

    is_told: bool = False


class DeadlineExceededError(ReconcileError):
    """The reconcile took longer than it may. It is retried."""


class Deadline:
    """
    A point in time. A stop brings it forward. Threads: any.

    A thread cannot be stopped from outside, so a reconcile that works in steps, or waits, checks between
    them. Each request to the server has its own time limit. When the server asks for a wait (Retry-After), no
    worker sleeps. Instead, the name returns to the queue with that wait as its delay.
    """

    __slots__ = ("_at", "_clock", "_stop")

    def __init__(
        self,
        seconds: float | None = None,
        *,
        stop: threading.Event | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """Args: seconds from now, None if only stop ends it; stop is the program's stop event."""
        self._clock = clock
        self._at = math.inf if seconds is None else clock.now() + seconds
        self._stop = threading.Event() if stop is None else stop

    def remaining(self) -> float:
        """Return the seconds left, at least 0; infinity without a limit."""
        return 0.0 if self._stop.is_set() else max(0.0, self._at - self._clock.now())

    def passed(self) -> bool:
        """Return whether the time is up, regardless of a stop."""
        return self._clock.now() >= self._at

    def exceeded(self) -> bool:
        """Return whether to give up: the time is up, or the program stops."""
        return self._stop.is_set() or self.passed()

    def check(self) -> None:
        """
        Return if there is time left.

        Raises: DeadlineExceededError otherwise, so that the reconcile is retried.
        """
        if self.exceeded():
            raise DeadlineExceededError("stopping" if self._stop.is_set() else "reconcile deadline exceeded")

    def sleep(self, seconds: float) -> bool:
        """
        Wait, but not beyond the deadline.

        Returns: False if the deadline ended the wait, so that exceeded() is True.
        """
        self._clock.sleep(min(seconds, self.remaining()), self._stop)
        return not self.exceeded()


MADE: Final[ContextVar[list[Result] | None]] = ContextVar("MADE", default=None)
"""The Results that this thread's reconcile has created; None outside a reconcile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    How a reconcile ended.

    Args: requeue_after reconciles again after this many seconds, even without a change; None or 0 = only
    after a change. priority is the name's priority in the queue, None = the same as this time. Higher
    priorities come first: watch events and changes have 0, objects from a first list and resyncs have -100.

    Raises: ValueError; TypeError for a value that is not a number, such as a timedelta.
    """

    requeue_after: float | None = None
    priority: int | None = None

    def __post_init__(self) -> None:
        after: Any = self.requeue_after
        if not isinstance(after, int | float | None):
            way = ": pass its .total_seconds()" if isinstance(after, timedelta) else ""
            raise TypeError(f"requeue_after is a number of seconds, not {after!r}{way}")
        if after is not None and not 0 <= after < math.inf:
            raise ValueError(f"requeue_after must be a number of seconds of 0 or more, not {after}")
        if not isinstance(self.priority, int | None):
            raise TypeError(f"priority is a whole number, not {self.priority!r}")
        if (made := MADE.get()) is not None:
            made.append(self)


DONE: Final = Result()
"""Settled until something changes."""

LEFT_ALONE: Final = Result()
"""The reconcile was not called, because its object is paused."""
