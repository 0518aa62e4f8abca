"""
What a controller has recently decided about each name: the record that explains why nothing happens.

    events that predicates dropped     causes that were ignored     waits     reconciles, and how they ended

The record is always on, so a line costs only a lock and a struct, and texts are built only on request. The
last few lines of each name are kept, for the 10,000 names with the most recent decisions. What is waiting now
is not recorded here, because the queue knows it.
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
"""Of each name."""
LONGEST: Final = 120
"""The maximum length of a text in characters, because a server's error may contain a whole object."""

DROPPED: Final = "dropped"
IGNORED: Final = "ignored"
PARKED: Final = "parked"
PAUSED: Final = "paused"
TOLD: Final = "told"
"""A Warning Event."""
SETTLED: Final = "settled"
WAITS: Final = "waits"
FAILED: Final = "failed"
GAVE_UP: Final = "gave up"
RECONCILES: Final = frozenset({SETTLED, WAITS, FAILED, GAVE_UP})
"""What a reconcile ends with."""


class Decision(msgspec.Struct, frozen=True, gc=False):
    """
    One line.

    Fields: at, by the clock; what, one of the words above; text, the event or cause that was ignored, what it
    waits for, or the error; by, the predicate, or whatever else decided; cause, the first of several causes
    of a reconcile, which took this many milliseconds and made these changes; for a wait, milliseconds is its
    longest time; count, the number of equal lines in a row.
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
    The last decisions of one controller, by name.

    State, under _lock: _of, the most recently decided name last; each has at most LINES lines.
    Threads: listeners and workers write; any thread may read.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = new_lock("Decisions._lock", 96)
        self._of: OrderedDict[ObjectName, list[Decision]] = OrderedDict()

    def note(
        self, name: ObjectName, what: str, text: str = "", *, by: str = "", seconds: float = 0.0
    ) -> None:
        """Record a wait, or an event or a cause that was ignored."""
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
        """A reconcile has ended. text is its error, or what it waits for. Returns: its line."""
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
        # Call gone without the lock, because it may take a lock of its own.
        leaving = [name for name in self.names() if gone(name)]
        with self._lock:
            for name in leaving:
                self._of.pop(name, None)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _are_alike(one: Decision, other: Decision) -> bool:
    return one.what == other.what and (one.text, one.by, one.changes) == (other.text, other.by, other.changes)
