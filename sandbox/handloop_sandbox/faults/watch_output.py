"""
The client's end of a watch, where faults delay, change or drop its lines.

Without faults, a WatchOutput passes on its watcher's lines immediately. With faults, it stores the lines
until they are due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Literal, TypeVar

from handloop_sandbox.faults.fault import DelayWatch, DistortWatch, DropWatch, Expire, Fault, Lag, Silence
from handloop_sandbox.faults.faults import Faults
from handloop_sandbox.faults.injection import Injection
from handloop_sandbox.faults.request_attributes import RequestAttributes
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.watches import Subscription, Watcher, error_line

F = TypeVar("F", bound=Fault)

_GARBAGE = b'{"type":"MODIFIED","object":{"kind":\n'


class WatchOutput:
    """
    One open watch as its client sees it.

    State: while paused is true, no line is due; the HTTP server pauses a watch whose client reads too slowly.
    ended becomes true when take() returns the last lines. broken says how the connection ends; it is "" for a
    normal end. _injections holds the faults that affect this watch. _known holds the ids of all faults
    checked so far. _held holds the lines that are not due, each with its time of arrival. _sent counts the
    lines sent. _opening is true until the faults are checked for the first time.
    Threads: any thread that holds the engine's lock can call the methods.
    """

    def __init__(self, watcher: Watcher, state: State, asked: RequestAttributes, faults: Faults) -> None:
        self.ended = False
        self.broken: Literal["", "cut", "reset"] = ""
        self.paused = False
        self._watcher = watcher
        self._state = state
        self._asked = asked
        self._faults = faults
        self._revision = -1
        self._opening = True
        self._known: set[str] = set()
        self._injections: list[Injection] = []
        self._held: deque[tuple[float, bytes]] = deque()
        self._sent = 0

    @property
    def watcher(self) -> Watcher:
        """The watcher that produces the lines."""
        return self._watcher

    @property
    def subscription(self) -> Subscription:
        """The objects that the client watches."""
        return self._watcher.subscription

    def take(self, now: float) -> list[bytes]:
        """Remove and return the lines to send now, oldest first."""
        if self.ended:
            return []
        if not self._is_touched():
            self._opening = False
            lines = self._watcher.take(now)
            self.ended = self._watcher.ended
            self._sent += len(lines)
            return lines
        self._look(now)
        lines = self._release(now)
        self._sent += len(lines)
        if self._quota() <= 0:
            lines += self._end()
        elif self._watcher.ended and not self._held:
            self.ended = True
        return lines

    def arrive(self, now: float) -> None:
        """If a fault delays watch events, fetch a new commit's lines, because their delay starts now."""
        if self.ended or not self._is_touched():
            return
        self._look(now)
        if any(self._holding(DelayWatch)):
            self._take_in(now)

    def is_due(self, now: float) -> bool:
        """Return whether take() has something to do."""
        if self.ended or self.paused:
            return False
        if not self._is_touched():
            return self._watcher.is_due(now)
        if self._revision != self._faults.revision or now >= self.next_wake():
            return True
        return self._may_take() and self._watcher.is_due(now, up_to=self._up_to())

    def next_wake(self) -> float:
        """Return the unix time at which the next line is due without another change; infinity for never."""
        if self.paused:
            return inf
        if not self._is_touched():
            return self._watcher.next_wake()
        due = self._held[0][0] + self._delay() if self._held and self._may_send() else inf
        return min(due, self._watcher.next_wake()) if self._may_take() else due

    def apply_to_open_watches(self, injection: Injection) -> None:
        """Apply an injected fault to this watch if it matches."""
        if not self.ended and self._faults.offer(injection, self._asked):
            self._injections.append(injection)

    def close(self) -> None:
        """End the watch because its client has disconnected."""
        self.ended = self._watcher.ended = True

    def _is_touched(self) -> bool:
        return self._faults.active or bool(self._injections) or bool(self._held)

    def _look(self, now: float) -> None:
        """Determine which faults affect this watch, if the faults have changed since the last call."""
        if self._revision != self._faults.revision:
            opening, self._opening = self._opening, False
            self._injections += self._faults.affecting_watch(self._asked, self._known, now, opening=opening)
            self._injections = [injection for injection in self._injections if not injection.over]
            self._revision = self._faults.revision

    def _release(self, now: float) -> list[bytes]:
        """Fetch lines from the watcher, and return those that are due and allowed by the faults."""
        self._take_in(now)
        room = min(self._quota(), self._room_before_silence())
        due = now - self._delay()
        out: list[bytes] = []
        while self._held and len(out) < room and self._held[0][0] <= due:
            out.append(self._held.popleft()[1])
        return out

    def _take_in(self, now: float) -> None:
        while self._may_take() and (lines := self._watcher.take(now, up_to=self._up_to())):
            self._held.extend((now, line) for line in self._distorted(lines))

    def _distorted(self, lines: list[bytes]) -> list[bytes]:
        for fault in self._holding(DistortWatch):
            spared = max(0, fault.after_events - self._sent - len(self._held))
            lines = lines[:spared] + _distort(fault.how, lines[spared:])
        return lines

    def _end(self) -> list[bytes]:
        """End the stream because of a fault."""
        self.ended = self._watcher.ended = True
        self._held.clear()
        for injection in self._injections:
            match injection.fault:
                case Expire() as fault if self._sent >= fault.after_events:
                    return [error_line(fault.error_status(self._asked))]
                case DropWatch() as fault if self._sent >= fault.after_events:
                    self.broken = "" if fault.how == "end" else fault.how
                    return []
        return []

    def _holding(self, kind: type[F]) -> Iterable[F]:
        return (i.fault for i in self._injections if not i.over and isinstance(i.fault, kind))

    def _quota(self) -> float:
        """Return how many more lines can be sent before a fault ends the watch."""
        limits = [fault.after_events for fault in self._holding(DropWatch)]
        limits += [fault.after_events for fault in self._holding(Expire)]
        return min(limits, default=inf) - self._sent

    def _room_before_silence(self) -> float:
        return min((fault.after_events for fault in self._holding(Silence)), default=inf) - self._sent

    def _delay(self) -> float:
        """Return how many seconds lines are delayed, or infinity if they wait until a fault is cleared."""
        return max(
            (inf if f.delay_seconds is None else f.delay_seconds for f in self._holding(DelayWatch)),
            default=0.0,
        )

    def _up_to(self) -> int | None:
        """Return the newest resource version to show to the client, or None for no limit."""
        newest = self._state.resource_version
        limits = [
            injection.newest_visible(newest)
            for injection in self._injections
            if not injection.over and isinstance(injection.fault, Lag)
        ]
        return min(limits, default=None)

    def _may_send(self) -> bool:
        return self._room_before_silence() > 0 and self._delay() < inf

    def _may_take(self) -> bool:
        """Return whether to fetch more lines from the watcher. Lines that cannot be sent are not fetched."""
        return not self._watcher.ended and self._may_send() and len(self._held) < self._room_before_silence()


def _distort(how: str, lines: list[bytes]) -> list[bytes]:
    match how:
        case "repeat":
            return [copy for line in lines for copy in (line, line)]
        case "reverse":
            return lines[::-1]
        case "lose":
            return []
        case _:
            return [_GARBAGE for _ in lines]
