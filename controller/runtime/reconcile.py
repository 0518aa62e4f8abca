"""
How a reconcile ends, and how long it may take.

A reconcile is level-triggered: it gets an object or a name, reads the present state, and makes the cluster
match. It returns when the object is settled for now, and raises to be called again with back-off.
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
    An expected failure: retried with back-off, logged without a stack. Other errors count as bugs.

    Fields: retry_seconds = the retry comes no earlier than that.
    """

    retry_seconds: float = 0.0


class WaitError(ReconcileError):
    """
    Something else must come first: not a failure, and not an error in the log.

    Its watch event brings the next reconcile. Without such a watch the next one comes after retry_seconds.
    """

    retry_seconds = 30.0


class CacheNotFilledError(WaitError):
    """The first list of a cache fails; retried soon, as nothing tells that it works again."""

    retry_seconds = 5.0


class TerminalError(ReconcileError):
    """
    Another try cannot help: the name waits until the object, or something it depends on, changes.

    The text is the reason, for the log and for the condition Stalled; `raise TerminalError("...") from error`
    keeps the cause.

    Fields: is_told = the object had that condition with that text before the reconcile, so it is not news.
    """

    is_told: bool = False


class DeadlineExceededError(ReconcileError):
    """The reconcile took longer than it may; retried."""


class Deadline:
    """
    A point in time, and a stop that brings it forward. Threads: any.

    Nothing can stop a thread from outside, so a reconcile that works in steps, or waits, asks between them.
    Each request to the server has a limit of its own. A wait that the server asks for (Retry-After) is not
    spent in a worker: the name goes back into the queue with that wait as its delay.
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
        """Seconds left, at least 0; infinity without a limit."""
        return 0.0 if self._stop.is_set() else max(0.0, self._at - self._clock.now())

    def passed(self) -> bool:
        """Whether the time is up, regardless of a stop."""
        return self._clock.now() >= self._at

    def exceeded(self) -> bool:
        """Whether to give up: the time is up, or the program stops."""
        return self._stop.is_set() or self.passed()

    def check(self) -> None:
        """
        Return if time is left.

        Raises: DeadlineExceededError, for the reconcile to be retried.
        """
        if self.exceeded():
            raise DeadlineExceededError("stopping" if self._stop.is_set() else "reconcile deadline exceeded")

    def sleep(self, seconds: float) -> bool:
        """
        Wait, at most until the deadline.

        Returns: False when the deadline ended the wait: exceeded() holds.
        """
        self._clock.sleep(min(seconds, self.remaining()), self._stop)
        return not self.exceeded()


MADE: Final[ContextVar[list[Result] | None]] = ContextVar("MADE", default=None)
"""The Results that the reconcile of this thread has made; None outside of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    How a reconcile settled.

    Args: requeue_after in seconds: reconcile again then, even without a change; None or 0 = only after a
    change. priority = the one with which the name then waits for a worker, None = as this time: higher ones
    come first, watch events and changes have 0, objects of a first list and resyncs -100.

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
"""The reconcile was not called, as its object is paused."""
