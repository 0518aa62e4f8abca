"""
The contract between a controller and the code that reconciles.

A reconcile is level-triggered: it gets a name, reads the present state, and makes the cluster match. It
returns when the object is settled for now, and raises to be called again with back-off.
Follows: controller-runtime pkg/reconcile.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from handloop.apis.meta import Kind
from handloop.informers.keys import ObjectName
from handloop.workqueue.seams import REAL_CLOCK, Clock


class ReconcileError(Exception):
    """An expected failure: retried with back-off, logged without a stack. Other errors count as bugs."""


class TerminalError(ReconcileError):
    """
    Another try cannot help: the name waits until the object, or something it depends on, changes.

    The text is the reason, for the log and for a condition; `raise TerminalError("...") from error` keeps the
    cause.
    """


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    How a reconcile settled.

    Args: requeue_after in seconds: reconcile again then, even without a change; None = only after a change.
    """

    requeue_after: float | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        if after is not None and not 0 <= after < math.inf:
            raise ValueError(f"requeue_after must be a number of seconds of 0 or more, not {after}")


DONE: Final = Result()
"""Settled until something changes."""


def _ignore(_obj: Kind) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileContext:
    """
    The second argument of a reconcile, after the name.

    Args: id is in every log line of this reconcile. causes led to it, merged, such as ("MyApp default/a
    updated", "requeue after 30s"). deadline is co-operative: the reconcile asks it between steps. log is
    bound to controller, object and id.

    The reconcile calls wrote with the server's answer to each create, update, patch or apply, and deleted
    with each object whose deletion the server accepted, as it was known. So the next reconcile does not act
    on a cache that lacks these writes.
    """

    id: str = ""
    causes: tuple[str, ...] = ()
    deadline: Deadline = field(default_factory=Deadline)
    log: Any = field(default_factory=lambda: structlog.get_logger("reconcile"))
    wrote: Callable[[Kind], None] = _ignore
    deleted: Callable[[Kind], None] = _ignore


class Reconciler(Protocol):
    """Makes the cluster match what one object asks for."""

    def reconcile(self, name: ObjectName, context: ReconcileContext) -> Result | None:
        """
        Compare what the object of this name wants with the present state, and write the difference.

        Never runs twice at once for one name. An object that is gone is no error: its deletion may be the
        cause.
        Returns: None counts as DONE.
        Raises: anything, to be called again with back-off; TerminalError to wait for a change.
        """
