"""
Record what a controller has recently decided about each name, to explain why a name is not reconciled.

    events that predicates dropped     causes that were ignored     waits     reconciles, and how they ended

The record is always on, so adding a line costs only a lock and a struct, and sentences are built only on
request. The last few lines of each name are stored, for the 10,000 names with the most recent decisions.
Which names are waiting now is not recorded here; ask the queue.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from handloop.informers.keys import ObjectName
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock

NAMES: Final = 10_000
LINES: Final = 4
"""The number of lines that are stored for each name."""
LONGEST: Final = 120
"""The maximum length of a text in characters. It is needed because an error may contain a whole object."""

DROPPED: Final = "dropped"
IGNORED: Final = "ignored"
PARKED: Final = "parked"
PAUSED: Final = "paused"
TOLD: Final = "told"
"""The author recorded a Warning Event."""
SETTLED: Final = "settled"
WAITS: Final = "waits"
FAILED: Final = "failed"
GAVE_UP: Final = "gave up"
RECONCILES: Final = frozenset({SETTLED, WAITS, FAILED, GAVE_UP})
"""The decisions that end a reconcile."""


class Decision(msgspec.Struct, frozen=True, gc=False):
    """
    One line of the record.

    Fields: at is a value returned by Clock.now(). what is one of the constants above, such as DROPPED. text
    is the ignored event or cause, the reason for a wait, or the error. by is the predicate or other part that
    decided. cause is the first cause of a reconcile. milliseconds is the duration of a reconcile, or the
    longest duration of a wait. changes lists the reconcile's writes. count is the number of equal decisions
    in a row, which share one line.
    """

    at: float
    what: str
    text: str = ""
    by: str = ""
    cause: str = ""
    milliseconds: int = 0
    changes: str = ""
    count: int = 1


class Decisions:
    """
    Stores the last decisions of one controller, by name.

    State, under _lock: _of maps each name to its lines, of which there are at most LINES. The name with the
    most recent decision is last.
    Threads: listeners and workers write; any thread can read.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = new_lock("Decisions._lock", 96)
        self._of: OrderedDict[ObjectName, list[Decision]] = OrderedDict()

    def note(
        self, name: ObjectName, what: str, text: str = "", *, by: str = "", seconds: float = 0.0
    ) -> None:
        """Record a wait, or an event or cause that was ignored."""
        self._add(name, Decision(self._clock.now(), what, _cut(text), by, "", int(seconds * 1000)))

    def reconciled(
        self,
        name: ObjectName,
        what: str,
        text: str,
        *,
        causes: tuple[str, ...],
        began_at: float,
        changes: str,
    ) -> Decision:
        """
        Record the end of a reconcile.

        Args: text is the reconcile's error, or why it waits.
        Returns: the line that was recorded.
        """
        now = self._clock.now()
        cause = causes[0] if causes else ""
        if len(causes) > 1:
            cause = f"{cause} and {len(causes) - 1} more"
        if len(text) + len(changes) > LONGEST:
            text, changes = _cut(text), _cut(changes)
        line = Decision(now, what, text, "", cause, int((now - began_at) * 1000), changes)
        self._add(name, line)
        return line

    def _add(self, name: ObjectName, line: Decision) -> None:
        """Add a line, or increase the last line's count if both are equal."""
        with self._lock:
            lines = self._lines_locked(name)
            if lines and _are_alike(lines[-1], line):
                lines[-1] = msgspec.structs.replace(
                    line, text=lines[-1].text, changes=lines[-1].changes, count=lines[-1].count + 1
                )
                return
            if len(lines) >= LINES:
                del lines[0]
            lines.append(line)

    def _lines_locked(self, name: ObjectName) -> list[Decision]:
        lines = self._of.get(name)
        if lines is None:
            lines = self._of[name] = []
            if len(self._of) > NAMES:
                self._of.popitem(last=False)
        else:
            self._of.move_to_end(name)
        return lines

    def of(self, name: ObjectName) -> tuple[Decision, ...]:
        """Return the decisions about a name, oldest first."""
        with self._lock:
            return tuple(self._of.get(name, ()))

    def names(self) -> tuple[ObjectName, ...]:
        """Return the names about which there are decisions."""
        with self._lock:
            return tuple(self._of)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """See NameMemory."""
        # Call gone outside the lock, because gone may take a lock of its own.
        leaving = [name for name in self.names() if gone(name)]
        with self._lock:
            for name in leaving:
                self._of.pop(name, None)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _are_alike(one: Decision, other: Decision) -> bool:
    return one.what == other.what and (one.text, one.by, one.changes) == (other.text, other.by, other.changes)
