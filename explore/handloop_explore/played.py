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
    One line of a story: when (in virtual seconds), who acts, and what they do, in words.

    who: `user`, `plan`, `server`, or one of the operator's processes, such as `process 1`. write: the number
    of the write that the line reports, 0 = none.
    """

    at: float
    who: str
    words: str
    write: int = 0

    def __str__(self) -> str:
        return f"{self.at:8.2f} s  {self.words}"

    @property
    def starts_process(self) -> bool:
        """Whether the line's process starts here, in the middle of the run."""
        return self.who.startswith("process") and self.words.endswith(" starts")

    @property
    def ends_process(self) -> bool:
        """Whether the line's process ends here."""
        return self.who.startswith("process") and (" ends, " in self.words or " ended by " in self.words)


class Write(NamedTuple):
    """
    One of the operator's writes: its number from 1, time, method, path, and the answer's status (0 = no
    answer).

    struck: what the plan did to it; process: the number of the process that wrote; objection: why that
    process must not write, "" = it may; arrival: what the write met at the server, None = it did not arrive.
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
    What a rival did to an object. target: the object's path; made: the rival's object there, None = none.

    rested_at: the time, if all was at rest and the operator had made the object, otherwise 0.
    """

    what: str
    target: str
    made: Object | None
    rested_at: float = 0.0


class Child(NamedTuple):
    """
    An object at a settled() that the operator has made, and that an object of a reconciled kind controls.

    Fields: its key, and how many of the operator's writes came before.
    """

    key: str
    writes: int


class State(NamedTuple):
    """
    The cluster at one time. objects: end_state; left: the objects at the rivals' targets.

    failing: the error that the operator still logs more than a minute after the users' last step; "" = none,
    None = it has no object to work for. is_down: no process of the operator was running. at: the time, in
    virtual seconds; reconciled_at: when each object was last reconciled.
    """

    objects: Mapping[str, dict[str, Any]]
    left: list[Object | None]
    failing: str | None = None
    is_down: bool = False
    at: float = math.inf
    reconciled_at: Mapping[str, float] = MappingProxyType({})


class Slowest(NamedTuple):
    """The slowest reconcile, which may still be running: its virtual seconds, and its queue."""

    seconds: float = 0.0
    queue: str = ""


class Played(NamedTuple):
    """
    The outcome of a plan.

    story: lines in order of time; states: the cluster at each settled() and at the end; busy: how many writes
    came when nothing should happen any more, in the last two minutes or at the end of a settled(); made: how
    often a write at each path made an object; rivals: what rivals did; died: why a process ended by itself,
    "" = none did; broken: the author's invariants that do not hold; switches: how often a thread was given
    the processor; reads, watches, waits: how many there were (waits in reconciles only); gets: the numbers of
    the reads that ask for one object; acts: what changed at the server, in version order; reconciled: the
    kinds that the operator works for; bugs: what it logged with a traceback; errors: what else it logged as
    an error, and when it last did; deadline_seconds: the limit for slowest, from the workload; leases: how
    often a Lease changed hands; children: what could be struck at each settled(), in that order; refused:
    what may not be deleted; lines: the lines of the operator's code that were reached; chance: in the
    undisturbed run, what other runs need not have in common with it.
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
    Collects the reports about a run while it lasts. Fields: as in Played.

    under_way: functions that deliver the writes that processes sent before they ended.
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
        """Add a line to the story, at the current time. Args: as in Told."""
        self.story.append(Told(self.threads.now, who, words, write))

    def reconciles(self, name: str) -> None:
        """Record a reconcile of an object."""
        self._reconciled[name] += 1
        self.reconciled_at[name] = self.threads.now

    def where(self, frame: FrameType | None) -> str:
        """Say how far the run has got, what it reconciles most, and the current line of the author's code."""
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
        """Record how long a reconcile from a queue has run so far, or took in total."""
        self.slowest = max(self.slowest, Slowest(seconds, queue))

    def arrive(self) -> None:
        """Deliver what is in flight to the server: at the next process's first write, or seconds later."""
        while self.under_way:
            self.under_way.pop()()

    def arrived(self, method: str, path: str, arrival: Arrival) -> None:
        """Record what a write met at the server."""
        for write in reversed(self.writes):
            if (write.method, write.path) == (method, path) and write.number not in self._arrivals:
                self._arrivals[write.number] = arrival
                break

    def all_writes(self) -> list[Write]:
        """Return the writes so far, each with its arrival."""
        return [write._replace(arrival=self._arrivals.get(write.number)) for write in self.writes]
