"""
How a reconcile ends, and how long it may take.

A reconcile is level-triggered: it receives an object or a name, reads the current state, and changes the
cluster to match. It returns when it has nothing to do for now, and raises an error to be called again with
back-off.
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
    An expected failure. The reconcile is retried with back-off, and no stack is logged.

    Other errors are treated as bugs.
    Fields: retry_seconds, the shortest time before the retry.
    """

    retry_seconds: float = 0.0


class WaitError(ReconcileError):
    """
    The reconcile has to wait until something else has happened. The wait is not logged as an error.

    A watch event that reports the change triggers the next reconcile. If no such event arrives, the reconcile
    is retried after retry_seconds.
    """

    retry_seconds = 30.0


class CacheNotFilledError(WaitError):
    """
    A cache's first list fails.

    The reconcile is retried soon, because no watch event reports that a later list has succeeded.
    """

    retry_seconds = 5.0


class TerminalError(ReconcileError):
    """
    A retry would not help, so the name waits until the object, or something that it depends on, changes.

    The message is the reason that the log and the condition Stalled show. `raise TerminalError("...") from
    error` keeps the cause.

    Fields: is_told, whether the object already had the condition Stalled with this message before the
    reconcile. If so, the error is not reported again.
    """

    is_told: bool = False


class DeadlineExceededError(ReconcileError):
    """The reconcile took longer than allowed. It is retried."""


class Deadline:
    """
    A time by which a reconcile has to end. If the program stops earlier, the reconcile has to end then.
    Threads: any.

    A thread cannot be stopped from outside. A reconcile with several steps or waits therefore checks its
    deadline between the steps. Each request to the server has its own time limit. When the server demands a
    wait (Retry-After), the worker does not sleep. Instead, the name is put back into the queue, and is
    reconciled after this delay.
    """

    __slots__ = ("_at", "_clock", "_stop")

    def __init__(
        self,
        seconds: float | None = None,
        *,
        stop: threading.Event | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """Args: seconds is the time from now, or None for no limit; stop is the program's stop event."""
        self._clock = clock
        self._at = math.inf if seconds is None else clock.now() + seconds
        self._stop = threading.Event() if stop is None else stop

    def remaining(self) -> float:
        """Return the seconds left, at least 0, or infinity without a limit."""
        return 0.0 if self._stop.is_set() else max(0.0, self._at - self._clock.now())

    def passed(self) -> bool:
        """Return whether the time has passed, regardless of a stop."""
        return self._clock.now() >= self._at

    def exceeded(self) -> bool:
        """Return whether the time has passed or the program is stopping."""
        return self._stop.is_set() or self.passed()

    def check(self) -> None:
        """
        Check that time is left.

        Raises: DeadlineExceededError otherwise, so that the reconcile is retried.
        """
        if self.exceeded():
            raise DeadlineExceededError("stopping" if self._stop.is_set() else "reconcile deadline exceeded")

    def sleep(self, seconds: float) -> bool:
        """
        Sleep, but not beyond the deadline.

        Returns: False if the deadline ended the sleep. exceeded() is then True.
        """
        self._clock.sleep(min(seconds, self.remaining()), self._stop)
        return not self.exceeded()


MADE: Final[ContextVar[list[Result] | None]] = ContextVar("MADE", default=None)
"""The Results that this thread's reconcile has created; None outside a reconcile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    How a reconcile ended.

    Args: requeue_after is the number of seconds after which the object is reconciled again, even without a
    change; with None or 0, it is reconciled again only after a change. priority is the name's new priority in
    the queue; None keeps its present one. Names with higher priorities come first. Watch events and changes
    have priority 0; objects from a first list, and resyncs, have -100.

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
"""The object needs no reconcile until something changes."""

LEFT_ALONE: Final = Result()
"""The reconcile was not called, because its object is paused."""
