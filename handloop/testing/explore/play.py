"""One run of a workload under a plan: the operator's processes, its writes, and what is left in the end."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.seams.logs import raised
from handloop.seams.quiet_logs import quiet_logs
from handloop.testing.explore.administrator import RefusedError
from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.end_state import end_state
from handloop.testing.explore.leadership import Leadership
from handloop.testing.explore.plan import LATE, Plan, Where
from handloop.testing.explore.played import Journal, Played, State
from handloop.testing.explore.process import Process
from handloop.testing.explore.story import in_words
from handloop.testing.explore.virtual_threads import VirtualThreads
from handloop.testing.explore.workload import Invariant, Workload, broken

RESTART_SECONDS: Final = 1.0
JOINING_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 120.0
_PATIENT_SECONDS: Final = 60.0
_FELT_SECONDS: Final = 90.0
"""How long after a strike it may still lead to writes: a silent watch is noticed after 75 s."""
_CREATED: Final = 201
_RECONCILES: Final = ("Reconciling", "Successfully synced")
"""Lines of the log, of our runtime and of controllers by hand."""

Recording: TypeAlias = Callable[[VirtualThreads, Journal], AbstractContextManager[object]]
"""Records a run for as long as its context lasts."""

Branch: TypeAlias = Callable[[Callable[[Plan], object]], Plan | None]
"""
Takes whether a plan begins here, and returns the plan that the run follows from here on, None = as before.

A run asks it once before it starts the operator, and at each call of the operator, until it gets a plan.
"""


class Forking(NamedTuple):
    """
    How a run parts into forks. done is called with what a run has come to, before its threads are ended: the
    fork that has a plan ends there.
    """

    branch: Branch
    done: Callable[[Played], object]


def play(
    workload: Workload,
    plan: Plan,
    invariants: Sequence[Invariant] = (),
    recording: Recording = lambda *_: nullcontext(),
    forking: Forking | None = None,
) -> Played:
    """
    Play a workload under a plan, from the beginning. The same plan gives the same run.

    The plan's order of threads begins at its first strike, or with the operator if it has none.
    """
    with quiet_logs(), VirtualThreads() as threads, threads.interrupted_in_main():
        run = _Run(threads, workload, plan, forking.branch if forking else None)
        with quiet_logs(run.hear), recording(threads, run.journal):
            played = run.played(invariants)
            if forking:
                forking.done(played)
    return played


class _Run:
    """
    One run.

    State: journal, what is told so far; _processes, the operator's present ones. Threads: those of `threads`.
    """

    def __init__(
        self, threads: VirtualThreads, workload: Workload, plan: Plan, branch: Branch | None
    ) -> None:
        self.threads = threads
        self.plan = plan
        self._has_begun = False
        self._branch = branch
        self.journal = Journal(threads)
        self._states: list[State] = []
        self._busy = 0
        self._error = (0.0, "")
        self._bugs: dict[str, None] = {}
        self._errors: dict[str, float] = {}
        self._numbers = itertools.count(1)
        self._leadership = None
        if workload.replicas > 1 or workload.shards:
            self._leadership = Leadership(self.journal, workload.shards)
        self._workload = workload
        (setup,) = DrySetUp((workload.set_up,), None).setups()
        self.reconciled = set(setup.kinds)
        self.cluster = VirtualCluster(threads, setup.kinds)
        self._processes = [self._new_process() for _ in range(workload.replicas)]

    def played(self, invariants: Sequence[Invariant]) -> Played:
        """Do it."""
        threads, workload, cluster = self.threads, self._workload, self.cluster
        is_late = self._struck_here("", 0) == LATE
        if not is_late:
            self._start()
        threads.run_for(workload.seconds)
        numbers = itertools.count(1)
        for step in workload.steps:
            if step.do is None:
                self._settle()
            else:
                self._strike_step(next(numbers), step.words)
                self._do(step.words, step.do)
                threads.run_for(workload.seconds)
        if is_late:
            self.journal.tell(self._processes[0].name, "the operator starts")
            self._start()
        self._settle()
        self._be_quiet(QUIET_SECONDS)
        writes, acts = self.journal.all_writes(), self.cluster.record.acts()
        return Played(
            self.plan,
            writes,
            in_words(self.journal.story, writes, acts),
            self._states,
            self._busy,
            Counter(one.path for one in self.journal.writes if one.status == _CREATED),
            self.journal.rivals,
            self.journal.died,
            [words for words in (broken(invariant, cluster) for invariant in invariants) if words],
            threads.switches,
            self.journal.reads,
            self.journal.watches,
            acts,
            frozenset(kind.resource.kind for kind in self.reconciled),
            list(self._bugs),
            self.journal.slowest,
            workload.deadline_seconds,
            self._errors,
            self.journal.leases,
        )

    def _start(self) -> None:
        first, *others = self._processes
        first.start()
        for nth, process in enumerate(others, 1):
            if self._workload.shards is None:
                process.start()
            else:
                self._start_later(process, nth * JOINING_SECONDS, f"{process.name} joins")

    def _strike_step(self, number: int, words: str) -> None:
        """Do to the processes what the plan does just before a step of the users."""
        what = self._struck_here("s", number)
        if not what:
            return
        self.journal.tell("plan", f"the plan strikes step {number}, {words}: {what}")
        for process in [*self._processes]:
            if what == "crash":
                self._killed(process, "as by kill -9")
                self._replace(process)
            else:
                process.views.strike(what)

    def hear(self, level: str, line: Mapping[str, Any]) -> None:
        """Take note of a reconcile, or of an error, and tell of that if nothing has struck."""
        if line["event"] in _RECONCILES:
            self.journal.reconciles(str(line.get("object") or line.get("objectName")))
        error = raised(line.get("exc_info"))
        # a thread that a crash ends may log that
        is_killed = self.threads.current_thread().killed
        if isinstance(error, Exception) and not is_killed:
            self._bugs[f"{line['event']}: {error!r}"] = None
        if level not in ("error", "critical"):
            return
        words = f"{line['event']}: {line['err']}" if "err" in line else str(line["event"])
        if not (error or is_killed):
            self._errors[words] = self.threads.now
        if "err" not in line:
            return
        if self.plan == Plan() and words != self._error[1]:
            self.journal.tell(self._processes[0].name, f"the operator logs an error: {words}")
        self._error = (self.threads.now, words)

    def _be_quiet(self, seconds: float) -> None:
        """Let time pass in which nothing should be written, but for what a late strike still leads to."""
        before = len(self.journal.writes)
        self.threads.run_for(seconds)
        calm_from = self._calm_from()
        late = sum(write.at > calm_from for write in self.journal.writes[before:])
        self._busy = max(self._busy, late)

    def _calm_from(self) -> float:
        """From when on no strike so far is felt any more."""
        struck_at = (told.at for told in self.journal.story if told.who == "plan")
        return max(struck_at, default=-math.inf) + _FELT_SECONDS

    def _settle(self) -> None:
        began, quiet = self.threads.now, min(QUIET_SECONDS, self._workload.settle_seconds / 4)
        self.threads.run_for(self._workload.settle_seconds - quiet)
        while self._calm_from() > self.threads.now:
            self.threads.run_for(self._calm_from() - self.threads.now)
        self._be_quiet(quiet)
        objects = end_state(
            self.cluster,
            self._processes[0].kinds,
            self.reconciled,
            self.cluster.record.made_by_operator(),
            self.cluster.record.made_by_cluster(),
        )
        left = [self.cluster.find(rival.target) for rival in self.journal.rivals]
        self._states.append(State(objects, left, self._failing_since(began, objects)))

    def _failing_since(self, began: float, objects: Iterable[str]) -> str | None:
        kinds = {kind.resource.kind for kind in self.reconciled}
        at, error = self._error
        if not any(key.partition(" ")[0] in kinds for key in objects):
            return None
        return error if at > began + _PATIENT_SECONDS else ""

    def _do(self, words: str, do: Callable[[VirtualCluster], object]) -> None:
        self.journal.tell("user", f"the user: {words}")
        try:
            do(self.cluster)
        except RefusedError as error:
            # after a rival's act, or before the operator has made it, there may be nothing to change
            if not self.plan.strikes:
                raise
            self.journal.tell("server", f"the server refuses: {error}")

    def _new_process(self) -> Process:
        return Process(
            self._workload.set_up,
            self.cluster,
            self.journal,
            self._struck_here,
            self._end,
            number=next(self._numbers),
            leadership=self._leadership,
        )

    def _struck_here(self, kind: Where, number: int) -> str:
        def begins(plan: Plan) -> object:
            return plan.at(number, kind) or not (number or plan.strikes)

        if branch := self._branch:
            taken = self.threads.outside(lambda: branch(begins))
            if taken is not None:
                self.plan, self._has_begun, self._branch = taken, False, None
        if not self._has_begun and begins(self.plan):
            self._has_begun = True
            self.threads.order = Random(self.plan.order) if self.plan.order else None
        return self.plan.at(number, kind)

    def _end(self, process: Process, why: str) -> None:
        """End a process; another one starts a second later. Never returns, in a thread of the process."""
        self._killed(process, why)
        self.threads.in_main(lambda: self._replace(process))
        self.threads.park()

    def _killed(self, process: Process, why: str) -> None:
        process.is_dead = True
        who = process.name if self._leadership else "the process"
        self.journal.tell(process.name, f"{who} ends, {why}")

    def _replace(self, process: Process) -> None:
        self.threads.kill([one for one in self.threads.threads() if one.process is process])
        other = self._processes[self._processes.index(process)] = self._new_process()

        name = other.name if self._leadership else "another process"
        self._start_later(other, RESTART_SECONDS, f"{name} starts")

    def _start_later(self, process: Process, seconds: float, words: str) -> None:
        def start() -> None:
            self.threads.sleep(seconds)
            if process in self._processes:
                self.journal.tell(process.name, words)
                process.start()

        self.threads.spawn("start", start)
