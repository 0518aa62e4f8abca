"""The outcome of a run: its writes, the rivals' acts, the story, and the states of the cluster."""

from __future__ import annotations

import math
import sysconfig
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, Final, NamedTuple

import handloop
from handloop_explore.administrator import Object
from handloop_explore.branches import Line
from handloop_explore.chance import Chance
from handloop_explore.plan import Plan
from handloop_explore.record import Act, Arrival
from handloop_explore.virtual_threads import VirtualThreads

_NOT_THE_AUTHORS: Final = (
    str(Path(handloop.__file__).parent),
    str(Path(__file__).parent),
    "handloop_sandbox",
    sysconfig.get_path("stdlib"),
)


class Told(NamedTuple):
    """
    One line of a story. at: the time in virtual seconds; words: the event, as text.

    who: the actor, which is `user`, `rival`, `plan`, `server`, or one of the operator's processes, such as
    `process 1`. write: the number of the write that the line reports, or 0.
    """

    at: float
    who: str
    words: str
    write: int = 0

    def __str__(self) -> str:
        return f"{self.at:8.2f} s  {self.words}"

    @property
    def starts_process(self) -> bool:
        """Whether the line reports that its process starts during the run."""
        return self.who.startswith("process") and self.words.endswith(" starts")

    @property
    def ends_process(self) -> bool:
        """Whether the line reports that its process ends."""
        return self.who.startswith("process") and (" ends, " in self.words or " ended by " in self.words)


class Write(NamedTuple):
    """
    One of the operator's writes. number: its number, from 1; at: its virtual time; status: the answer's
    status code, or 0 if no answer arrived.

    struck: the plan's strike, or ""; process: the number of the process that wrote; objection: why the
    process must not write, or "" if it is allowed; arrival: the object's versions when the write reached the
    server, or None if it did not.
    """

    number: int
    at: float
    method: str
    path: str
    status: int
    struck: str = ""
    process: int = 1
    objection: str = ""
    arrival: Arrival | None = None

    def __str__(self) -> str:
        return f"write {self.number}: {self.method} {self.path}: {self.status or 'no answer'}"


class Rival(NamedTuple):
    """
    An act of a rival client. what: the strike; target: the object's path; made: the object after the act, or
    None; if the cluster was at rest, the child before the act.

    rested_at: the virtual time if the rival acted on a child while the cluster was at rest, otherwise 0.
    """

    what: str
    target: str
    made: Object | None
    rested_at: float = 0.0


class Child(NamedTuple):
    """
    An object that the operator created and that an object of a reconciled kind owns, seen at a settled().

    Fields: key, as `Kind namespace/name`; writes, the number of the operator's earlier writes.
    """

    key: str
    writes: int


class State(NamedTuple):
    """
    The cluster at one time. objects: see end_state(); left: for each rival, the object that its target names
    at that time, or None.

    failing: the operator's last error if it was logged more than a minute after the settled() started,
    otherwise ""; None if the cluster contains no object for the operator to reconcile. is_down: whether none
    of the operator's processes was running. at: the time, in virtual seconds; reconciled_at: when each object
    was last reconciled.
    """

    objects: Mapping[str, dict[str, Any]]
    left: list[Object | None]
    failing: str | None = None
    is_down: bool = False
    at: float = math.inf
    reconciled_at: Mapping[str, float] = MappingProxyType({})


class Slowest(NamedTuple):
    """The slowest reconcile, which may still be running. seconds: its virtual duration; queue: its queue."""

    seconds: float = 0.0
    queue: str = ""


class Played(NamedTuple):
    """
    The outcome of a plan's run.

    story: the story's lines, by time; states: the cluster at each settled() and at the end; busy: the largest
    number of writes that no strike explains, at the end of a settled() or of the run; made: how many objects
    were created at each path; rivals: the acts of rivals; died: why a process ended on its own, or "";
    broken: the author's invariants that do not hold; switches: how often a thread was given its turn; reads,
    watches, waits: how many reads, openings of a watch, and waits in a reconcile occurred; gets: the numbers
    of the reads that request one object; acts: the changes at the server, by version; reconciled: the kinds
    that the operator reconciles; bugs: errors that it logged with a traceback; errors: its other logged
    errors, with the time of the last occurrence; deadline_seconds: the workload's limit for slowest; leases:
    how many writes would acquire, release or delete a Lease; children: the objects that could be struck at
    each settled(), in that order; refused: the objects that should not be deletable; lines: the lines of the
    operator's code that ran; chance: the values of the undisturbed run that depend on chance or time.
    """

    plan: Plan
    writes: list[Write]
    story: list[Told]
    states: list[State]
    busy: int
    made: Mapping[str, int]
    rivals: list[Rival]
    died: str
    broken: list[str]
    switches: int
    reads: int = 0
    watches: int = 0
    acts: Sequence[Act] = ()
    reconciled: frozenset[str] = frozenset()
    bugs: Sequence[str] = ()
    slowest: Slowest = Slowest()
    deadline_seconds: float = math.inf
    errors: Mapping[str, float] = MappingProxyType({})
    leases: int = 0
    waits: int = 0
    children: Sequence[Child] = ()
    gets: frozenset[int] = frozenset()
    refused: frozenset[str] = frozenset()
    lines: frozenset[Line] = frozenset()
    chance: Chance = Chance()


class Journal:
    """
    Collects the events of a run while it lasts. Fields: as in Played.

    under_way: functions that deliver to the server the writes that processes sent before they ended.
    """

    def __init__(self, threads: VirtualThreads) -> None:
        self.threads = threads
        self.writes: list[Write] = []
        self.story: list[Told] = []
        self.rivals: list[Rival] = []
        self.reads = 0
        self.gets: set[int] = set()
        self.watches = 0
        self.leases = 0
        self.waits = 0
        self.under_way: list[Callable[[], object]] = []
        self.children: list[Child] = []
        self.died = ""
        self.slowest = Slowest()
        self._arrivals: dict[int, Arrival] = {}
        self._reconciled: Counter[str] = Counter()
        self.reconciled_at: dict[str, float] = {}

    def tell(self, who: str, words: str, write: int = 0) -> None:
        """Add a line to the story, with the current time. Args: the fields of the new Told."""
        self.story.append(Told(self.threads.now, who, words, write))

    def reconciles(self, name: str) -> None:
        """Record a reconcile of an object."""
        self._reconciled[name] += 1
        self.reconciled_at[name] = self.threads.now

    def where(self, frame: FrameType | None) -> str:
        """Describe the run's time, its most reconciled object, and the current line of the author's code."""
        words = [f"the run is at {self.threads.now:.2f} s"]
        for name, times in self._reconciled.most_common(1):
            words.append(f"has reconciled {name} {times} time{'s' * (times > 1)}")
        own = [
            one
            for one in traceback.extract_stack(frame)
            if not any(part in one.filename for part in _NOT_THE_AUTHORS)
        ]
        if own and self.threads.current_thread().name != "MainThread":
            words.append(f"is at {Path(own[-1].filename).name}:{own[-1].lineno}, in {own[-1].name}")
        return ", and ".join(words)

    def reconciles_for(self, seconds: float, queue: str) -> None:
        """Record a reconcile's duration so far, or its total duration. Args: queue: the queue's name."""
        self.slowest = max(self.slowest, Slowest(seconds, queue))

    def arrive(self) -> None:
        """Deliver the writes in flight to the server, at the next process's first write or after 5 s."""
        while self.under_way:
            self.under_way.pop()()

    def arrived(self, method: str, path: str, arrival: Arrival) -> None:
        """Record the object's versions when a write reached the server."""
        for write in reversed(self.writes):
            if (write.method, write.path) == (method, path) and write.number not in self._arrivals:
                self._arrivals[write.number] = arrival
                break

    def all_writes(self) -> list[Write]:
        """Return the writes so far, with their arrivals filled in."""
        return [write._replace(arrival=self._arrivals.get(write.number)) for write in self.writes]
