"""Records the process's latest steps while at least one viewer reads them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from handloop.seams.clock import REAL_CLOCK
from handloop.seams.locks import new_lock
from handloop.seams.step_trace import TRACE, StepTrace

RING: Final = 5000
"""How many steps are kept."""


class Step(NamedTuple):
    """
    One reported step.

    seq is the step's number in the process, from 1. at is a value returned by Clock.now(). thread is the name
    of the thread that took the step. The other fields are the arguments of StepTrace.tell.
    """

    seq: int
    at: float
    thread: str
    number: int
    component: str
    key: str
    facts: dict[str, Any]


class Batch(NamedTuple):
    """
    The steps after a cursor, and the cursor to continue from.

    If the step after the cursor is no longer in the ring, the viewer skips all steps up to the newest one.
    steps is then empty, the new cursor is at the newest step, and missed is the number of skipped steps.
    missed is None if this number is unknown, because the recording was off in between.
    """

    steps: Sequence[Step]
    cursor: int
    missed: int | None = 0


class Recorder:
    """
    A ring buffer of steps. Each viewer reads it with its own cursor.

    The ring's size limits the memory, however many viewers there are. A viewer that reads too slowly misses
    steps, and can see how many.

    State, all under _lock (99): _ring has the latest steps, without gaps, oldest first; _seq is the newest
    step's number; _from is the last number before the current recording; _viewers is the number of viewers.
    Threads: usable from any thread. _record runs on the thread that takes a step, which may hold the lock of
    the part that reports the step. _record therefore only appends.
    """

    def __init__(
        self, *, size: int = RING, trace: StepTrace = TRACE, now: Callable[[], float] = REAL_CLOCK.now
    ) -> None:
        self._trace = trace
        self._now = now
        self._lock = new_lock("Recorder._lock", 99)
        self._ring: deque[Step] = deque(maxlen=size)
        self._seq = 0
        self._from = 0
        self._viewers = 0

    def join(self) -> int:
        """Add a viewer. The first viewer starts the recording. Returns: a cursor at the newest step."""
        with self._lock:
            self._viewers += 1
            if self._viewers == 1:
                self._trace.start(self._record)
            return self._seq

    def leave(self) -> None:
        """Remove a viewer. Removing the last one ends the recording."""
        with self._lock:
            self._viewers -= 1
            if self._viewers == 0:
                self._forget_locked()

    def close(self) -> None:
        """End the recording, even if there are still viewers."""
        with self._lock:
            self._forget_locked()

    def after(self, cursor: int, most: int) -> Batch:
        """Return the steps after a cursor. Args: most is the maximum number of steps."""
        with self._lock:
            if cursor < self._from or cursor > self._seq:
                return Batch((), self._seq, None)
            missed = self._seq - len(self._ring) - cursor
            if missed > 0:
                return Batch((), self._seq, self._seq - cursor)
            steps = tuple(islice(self._ring, -missed, -missed + most))
            return Batch(steps, cursor + len(steps))

    @property
    def newest(self) -> int:
        """The number of the newest step."""
        with self._lock:
            return self._seq

    def steps(self) -> list[Step]:
        """Return all steps in the ring, oldest first."""
        with self._lock:
            return list(self._ring)

    def _forget_locked(self) -> None:
        self._trace.stop()
        self._ring.clear()
        # Reserve one number for all unrecorded steps, so that a cursor from before them is recognized.
        self._seq += 1
        self._from = self._seq

    def _record(self, number: int, component: str, key: str, facts: dict[str, Any]) -> None:
        thread = threading.current_thread().name
        with self._lock:
            self._seq += 1
            self._ring.append(Step(self._seq, self._now(), thread, number, component, key, facts))
