"""Plays one run of a workload under a plan: the operator's processes, its writes, and the end state."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from handloop.apis.converter import conversions_of
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.seams.logs import in_words as shown
from handloop.seams.logs import raised
from handloop.seams.quiet_logs import quiet_logs
from handloop_explore.administrator import RefusedError
from handloop_explore.branches import Branches, Line
from handloop_explore.cluster import VirtualCluster
from handloop_explore.end_state import end_state
from handloop_explore.leadership import Leadership
from handloop_explore.memory import Memory
from handloop_explore.plan import Plan, Where
from handloop_explore.played import Child, Journal, Played, Rival, State
from handloop_explore.process import Process
from handloop_explore.record import Object, key_of, owners_of
from handloop_explore.rivals import Rivals
from handloop_explore.story import in_words
from handloop_explore.virtual_threads import EPOCH, VirtualThreads
from handloop_explore.workload import Invariant, Workload, broken

RESTART_SECONDS: Final = 1.0
JOINING_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 120.0
_PATIENT_SECONDS: Final = 60.0
_FELT_SECONDS: Final = 90.0
"""How long after a strike its effects can cause writes. A silent watch is noticed after 75 s."""
_YEAR_SECONDS: Final = 364 * 86_400.0
"""A whole number of weeks, so that scheduled work falls on the same weekday and time of day."""
_CREATED: Final = 201
_CONFLICT: Final = 409
_RECONCILES: Final = ("Reconciling", "Successfully synced")
"""The log messages that report a reconcile, from our runtime and from handwritten controllers."""

Recording: TypeAlias = Callable[[VirtualThreads, Journal], AbstractContextManager[object]]
"""Returns a context that records a run while it lasts."""

Branch: TypeAlias = Callable[[Callable[[Plan], object]], Plan | None]
"""
A function that offers a run the chance to fork. Its argument is a function that returns whether a plan begins
here. It returns the plan that the run follows from now on, or None if nothing changes.

A run calls it once before it starts the operator, and at each of the operator's calls, until it returns a
plan.
"""


class Forking(NamedTuple):
    """
    Functions through which a run forks. branch: see Branch. done: receives a run's outcome before the run's
    threads end, and ends the process if it is a fork that plays a plan. waiting: the plans that no fork has
    started yet, by index.
    """

    branch: Branch
    done: Callable[[Played], object]
    waiting: Mapping[int, Plan]


def play(
    workload: Workload,
    plan: Plan,
    invariants: Sequence[Invariant] = (),
    recording: Recording = lambda *_: nullcontext(),
    forking: Forking | None = None,
    *,
    is_twin: bool = False,
    known: Collection[Line] = (),
) -> Played:
    """
    Play a workload under a plan, from the beginning. The same plan always produces the same run.

    The plan's thread order applies from its first strike, or from the beginning if it has no strike.
    Args: is_twin: whether to play with another random seed and in another year; known: lines of the
    operator's code that need not be recorded.
    """
    memory = Memory(workload.set_up, [*workload.outside, *_functions_of_others(workload, invariants)])
    world = VirtualThreads(seed=2, epoch=EPOCH + _YEAR_SECONDS) if is_twin else VirtualThreads()
    with quiet_logs(), world as threads, threads.interrupted_in_main():
        memory.restore(threads.virtual(), lasting=True)
        try:
            branches = Branches(memory.codes, known)
            run = _Run(threads, workload, plan, forking, memory=memory, branches=branches)
            with quiet_logs(run.hear), recording(threads, run.journal):
                played = run.played(invariants)
                if forking:
                    forking.done(played)
        finally:
            memory.restore()
    return played


def _functions_of_others(workload: Workload, invariants: Sequence[Invariant]) -> Iterable[object]:
    """Return the functions of steps and invariants, which can share objects with the operator."""
    expected = [one for step in workload.steps for one in step.expect]
    return [*(step.do for step in workload.steps), *(one.holds for one in (*expected, *invariants))]


class _Run:
    """
    One run of a workload.

    State: journal, the reports so far; _processes, the operator's current processes; _waiting, the processes
    that start later; _is_over, whether the users' last step is done. Threads: runs on the virtual threads.
    """

    def __init__(
        self,
        threads: VirtualThreads,
        workload: Workload,
        plan: Plan,
        forking: Forking | None,
        *,
        memory: Memory,
        branches: Branches,
    ) -> None:
        self.threads = threads
        self._memory = memory
        self._branches = branches
        self.plan = plan
        self._has_begun = False
        self._forking = forking
        self.journal = Journal(threads)
        self._states: list[State] = []
        self._broken: list[str] = []
        self._waiting: list[Process] = []
        self._is_over = False
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
        # The operator also reconciles other programs' kinds. Others can write the status of these.
        self._own_kinds = frozenset(kind.resource.kind for kind in (*setup.kinds, *setup.foreign))
        memory.restore(threads.virtual())
        self.cluster = VirtualCluster(threads, (), workload.defined(setup.kinds), conversions_of(setup.kinds))
        self._processes = [self._new_process() for _ in range(workload.replicas)]
        self._waiting = [*self._processes]

    def played(self, invariants: Sequence[Invariant]) -> Played:
        """Play the run."""
        threads, workload, cluster = self.threads, self._workload, self.cluster
        self._struck_here("", 0)
        if self.plan.starts_at is None:
            self._start()
        threads.run_for(workload.seconds)
        numbers = itertools.count(1)
        for step in workload.steps:
            if step.do is None:
                self._settle(step.expect)
            else:
                self._strike_step(next(numbers), step.words)
                self._do(step.words, step.do)
                threads.run_for(workload.seconds)
        self._is_over = True
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
            self._broken + [words for one in invariants if (words := broken(one, cluster))],
            threads.switches,
            self.journal.reads,
            self.journal.watches,
            acts,
            self._own_kinds,
            list(self._bugs),
            self.journal.slowest,
            workload.deadline_seconds,
            self._errors,
            self.journal.leases,
            self.journal.waits,
            self.journal.children,
            frozenset(self.journal.gets),
            frozenset(step.refused for step in workload.steps),
            frozenset(self._branches.lines),
        )

    def _start(self) -> None:
        """Start the processes that had to wait."""
        starting, self._waiting = self._waiting, []
        if starting and self.journal.story:
            self.journal.tell(starting[0].name, "the operator starts")
        for nth, process in enumerate(starting):
            if not nth:
                process.start()
                continue
            if self._workload.shards is None:
                process.start()
            else:
                self._start_later(process, nth * JOINING_SECONDS, f"{process.name} joins")

    def _strike_step(self, number: int, words: str) -> None:
        """If the plan strikes a user's step, strike the processes just before it."""
        what = self._struck_here("s", number)
        if not what:
            return
        self.journal.tell("plan", f"the plan strikes step {number}, {words}: {what}")
        if what == "crash":
            self._crash_all()
            return
        for process in self._processes:
            process.views.strike(what)

    def _crash_all(self) -> None:
        for process in [*self._processes]:
            self._killed(process, "as by kill -9")
            self._replace(process)

    def hear(self, level: str, line: Mapping[str, Any]) -> None:
        """Record a log line about a reconcile or an error. If the plan is empty, add errors to the story."""
        if not self.threads.is_here():
            return  # The line is from a real thread, such as a server that tests share.
        if line["event"] in _RECONCILES:
            self.journal.reconciles(str(line.get("object") or line.get("objectName")))
        error = raised(line.get("exc_info"))
        # A thread may log an error because a crash ends it.
        is_killed = self.threads.current_thread().killed
        if error is not None and not is_killed:
            self._bugs[f"{line['event']}: {shown(error, repr)}"] = None
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
        """Let time pass, and count the writes that no strike explains."""
        before = len(self.journal.writes)
        self.threads.run_for(seconds)
        calm_from = self._calm_from()
        # An operator is right to keep trying to create an object whose name another client has taken.
        taken = any(rival.what == "rival-takes-name" for rival in self.journal.rivals)
        late = sum(
            write.at > calm_from and not (taken and write.status == _CONFLICT)
            for write in self.journal.writes[before:]
        )
        self._busy = max(self._busy, late)

    def _calm_from(self) -> float:
        """Return the time at which the effects of all strikes so far have ended."""
        struck_at = (told.at for told in self.journal.story if told.who == "plan")
        return max(struck_at, default=-math.inf) + _FELT_SECONDS

    def _settle(self, expect: Sequence[Invariant] = ()) -> None:
        """
        Wait until the cluster is at rest, strike as planned, and record the state.

        Args: expect: the invariants to check, as in Step.
        """
        number, began = len(self._states) + 1, self.threads.now
        if self.plan.starts_at == number:
            self._start()
        if self._is_down():
            self.threads.run_for(self._workload.settle_seconds)
        else:
            self._rest()
        # The process may have ended only now, at a late write, for example because a watch was blind until
        # now.
        if self._is_down():
            self._states.append(State({}, [], is_down=True, reconciled_at={}))
            return
        if self._strike_at_rest(number):
            self._rest()
        self._broken += [words for one in expect if (words := broken(one, self.cluster))]
        objects = end_state(
            self.cluster,
            next((one.kinds for one in self._processes if one.kinds), ()),
            self.reconciled,
            self.cluster.record.made_by_operator(),
            self.cluster.record.made_by_cluster(),
            gone=self.cluster.record.gone(),
            ignore=self._workload.ignored,
        )
        left = [self.cluster.find(rival.target) for rival in self.journal.rivals]
        failing, heard = self._failing_since(began, objects), dict(self.journal.reconciled_at)
        self._states.append(State(objects, left, failing, at=self.threads.now, reconciled_at=heard))

    def _is_down(self) -> bool:
        return len(self._waiting) == len(self._processes)

    def _rest(self) -> None:
        quiet = min(QUIET_SECONDS, self._workload.settle_seconds / 4)
        self.threads.run_for(self._workload.settle_seconds - quiet)
        while self._calm_from() > self.threads.now:
            self.threads.run_for(self._calm_from() - self.threads.now)
        self._be_quiet(quiet)

    def _strike_at_rest(self, number: int) -> bool:
        """Carry out the plan's strikes at a settled(). Returns: whether something was struck."""
        struck = False
        if self._struck_here("q", number) == "crash":
            self.journal.tell("plan", f"the plan strikes settled() {number}: crash")
            self._crash_all()
            struck = True
        for child in self._children():
            self.journal.children.append(Child(key_of(child), len(self.journal.writes)))
            nth = len(self.journal.children)
            if what := self._struck_here("c", nth):
                words = f"the plan strikes child {nth}, {key_of(child)}, while the cluster is at rest: {what}"
                self.journal.tell("plan", words)
                self.cluster.later("rival", 0.0, partial(self._act_at_rest, what, child))
                struck = True
        return struck

    def _children(self) -> list[Object]:
        """Return the operator's objects that an object of its kinds owns, except those being deleted."""
        record = self.cluster.record
        return sorted(
            (
                obj
                for obj in record.made_by_operator()
                if (owners := owners_of(obj, self._own_kinds))
                and not any(record.is_ending(one["uid"]) for one in (obj["metadata"], *owners))
            ),
            key=key_of,
        )

    def _act_at_rest(self, what: str, child: Object) -> None:
        target = self.cluster.path_of(child)
        if Rivals(self.cluster, self.journal.tell).act(what, target, None):
            self.journal.rivals.append(Rival(what, target, child, self.threads.now))

    def _failing_since(self, began: float, objects: Iterable[str]) -> str | None:
        at, error = self._error
        if not any(key.partition(" ")[0] in self._own_kinds for key in objects):
            return None
        return error if at > began + _PATIENT_SECONDS else ""

    def _do(self, words: str, do: Callable[[VirtualCluster], object]) -> None:
        self.journal.tell("user", f"the user: {words}")
        try:
            do(self.cluster)
        except RefusedError as error:
            # The object may be missing, because of a rival or because the operator has not created it so far.
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
            branches=self._branches,
            number=next(self._numbers),
            leadership=self._leadership,
        )

    def _struck_here(self, kind: Where, number: int) -> str:
        def begins(plan: Plan) -> object:
            return plan.at(number, kind) or (not number and (not plan.strikes or plan.starts_at is not None))

        forking = self._forking
        if forking and (not forking.waiting or any(map(begins, forking.waiting.values()))):
            taken = self.threads.outside(lambda: forking.branch(begins))
            if taken is not None:
                self.plan, self._has_begun, self._forking = taken, False, None
        if not self._has_begun and begins(self.plan):
            self._has_begun = True
            self.threads.order = Random(self.plan.order) if self.plan.order else None
            self.threads.steps = Random(self.plan.order) if self.plan.order % 4 == 1 else None
        return self.plan.at(number, kind)

    def _end(self, process: Process, why: str) -> None:
        """End a process, and start another one a second later. Never returns in a thread of the process."""
        self._killed(process, why)
        self.threads.in_main(lambda: self._replace(process))
        self.threads.park()

    def _killed(self, process: Process, why: str) -> None:
        process.is_dead = True
        who = process.name if self._leadership else "the process"
        self.journal.tell(process.name, f"{who} ends, {why}")

    def _replace(self, process: Process) -> None:
        self.threads.kill([one for one in self.threads.threads() if one.process is process])
        if self._workload.replicas == 1:  # because several processes would share the state
            self._memory.restore(self.threads.virtual())
        other = self._processes[self._processes.index(process)] = self._new_process()

        if process.is_down and not self._is_over:
            self._waiting.append(other)
            return
        name = other.name if self._leadership else "another process"
        self._start_later(other, RESTART_SECONDS, f"{name} starts")

    def _start_later(self, process: Process, seconds: float, words: str) -> None:
        def start() -> None:
            self.threads.sleep(seconds)
            if process in self._processes:
                self.journal.tell(process.name, words)
                process.start()

        self.threads.spawn("start", start)
