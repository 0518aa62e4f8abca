"""
Explores every crash point of a controller.

    report = run_plans(Workload(set_up, [applied(SITE), changed(SITE, patch), deleted(SITE)]), plans=500)
    report.check()

The workload runs once undisturbed, which shows where the operator writes. Then it runs again from the
start, once for each plan. A plan is a crash, lost reply, refusal, rival or stale view at one of the writes.
Later plans combine two or three faults, and change the thread order. General rules judge each run; see
oracles.py. Time is virtual, and one thread runs at a time, so the same plan always produces the same run.
Forked processes play the plans on all processors; see forks.py.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from types import FrameType
from typing import Any, Final

from handloop_explore.branches import lines_of
from handloop_explore.chance import Chance
from handloop_explore.forks import PLAN_SECONDS, Lost, called_in_fork, can_fork
from handloop_explore.memory import Memory
from handloop_explore.oracles import habits, verdicts
from handloop_explore.plan import LATE, LATE_PLAN, Plan
from handloop_explore.plans import Places, all_plans
from handloop_explore.play import play
from handloop_explore.played import Journal, Played
from handloop_explore.plays import Plays
from handloop_explore.record import USER
from handloop_explore.report import Failure, Report, UndisturbedError
from handloop_explore.virtual_threads import VirtualThreads
from handloop_explore.workload import Invariant, Workload

DEFAULT_PLANS: Final = 300
_MOST_FAILURES: Final = 20
_MOST_FIELDS: Final = 5
_BATCH: Final = 64
"""How many plans one trunk process plays; see forks.py."""

_DETAILS: Final = re.compile(r"\d+| (in the end|at settled\(\)).*")


def run_plans(
    workload: Workload,
    *,
    plans: int = DEFAULT_PLANS,
    seconds: float = math.inf,
    seed: int = 1,
    invariants: Sequence[Invariant] = (),
    replay: str = "",
    processes: int | None = None,
    progress: Callable[[Report], object] = lambda _report: None,
) -> Report:
    """
    Play a workload's plans, and return a report.

    Args: plans, seconds: the largest number of plans to play, and the longest time to play them; single
    strikes come first, then random plans drawn from seed. replay: the only plan to play, in this process.
    processes: how many forks play at once, or None for one per processor; the report is the same for any
    number. progress: called after each plan, in the order in which they end.
    Returns: the report. Faults of writes in the undisturbed run are reported once, for the empty plan.
    Raises: UndisturbedError if even the undisturbed run fails; ValueError if replay is not a plan, or strikes
    nothing.
    Blocks: for about a twentieth of a second per plan, divided by the number of processors. The exploration
    ends early after 20 different failures. Ctrl-C ends it with the results so far.
    """
    undisturbed = _undisturbed(workload, invariants, min(seconds, PLAN_SECONDS))
    report = Report(undisturbed, seed)
    if wrong := verdicts(undisturbed, undisturbed):
        raise UndisturbedError(Report.of_undisturbed(undisturbed, wrong))
    if not replay and (wrong := habits(undisturbed)):
        report = replace(Report.of_undisturbed(undisturbed, wrong), seed=seed)
    if replay:
        _require_that_it_strikes(workload, Plan.parse(replay), undisturbed)
    plays = Plays(workload, undisturbed, invariants, processes or _processors())
    report.places = Places.of(undisturbed, workload)
    report.code = lines_of(Memory(workload.set_up).codes) if undisturbed.lines else ()
    report.unseen = _unseen(workload, undisturbed)
    first = () if workload.depends else (LATE_PLAN,)
    followed = itertools.chain(first, all_plans(report.places, seed))
    references = cache(lambda: [play(workload, plan) for plan in report.places.anew()])
    chosen = itertools.islice(iter([Plan.parse(replay)]) if replay else followed, plans)
    began, used = time.monotonic(), _processor_seconds()
    while batch := list(itertools.islice(chosen, _BATCH)):
        found: dict[int, Failure] = {}
        try:
            for index, failure in plays.judged(batch, began + seconds):
                if failure:
                    found[index] = failure
                report.count(batch[index])
                report.failed += failure is not None
                report.wall_seconds = time.monotonic() - began
                progress(report)
        except KeyboardInterrupt:
            report.is_interrupted = True
        try:
            for index in sorted(found):
                _add(report, plays, found[index], references)
        except KeyboardInterrupt:
            report.is_interrupted = True
        report.lines = plays.lines
        report.timed_plans, report.seconds = report.plans, _processor_seconds() - used
        report.wall_seconds = time.monotonic() - began
        if report.is_interrupted or report.wall_seconds >= seconds or len(report.failures) == _MOST_FAILURES:
            break
    return report


def _undisturbed(workload: Workload, invariants: Sequence[Invariant], seconds: float) -> Played:
    """
    Return the undisturbed run, and the values in which a second run with other random numbers differs.

    If possible, the second run is played first, in a fork with a time limit, because a controller can be busy
    forever. The undisturbed run, in this process, fills caches that all later forks inherit.
    Raises: UndisturbedError if the second run takes longer than `seconds`.
    """
    journals: list[Journal] = []

    @contextmanager
    def noting(_: VirtualThreads, journal: Journal) -> Iterator[None]:
        journals.append(journal)
        yield

    def twin() -> list[Mapping[str, Any]]:
        return [state.objects for state in play(workload, Plan(), (), noting, is_twin=True).states]

    def where(frame: FrameType | None) -> str:
        return journals[0].where(frame) if journals else "the set-up goes on"

    outcome = called_in_fork(twin, seconds=seconds, where=where) if can_fork() else twin()
    if isinstance(outcome, Lost):
        nothing = Played(Plan(), [], [], [], 0, {}, [], "", [], 0)
        wrong = f"it has not come to rest after {seconds:g} s of wall time: {outcome.why}"
        raise UndisturbedError(Report.of_undisturbed(nothing, [wrong]))
    played = play(workload, Plan(), invariants)
    states = [state.objects for state in played.states]
    return played._replace(chance=Chance.of(states, outcome or states))


def _require_that_it_strikes(workload: Workload, plan: Plan, undisturbed: Played) -> None:
    """Raises: ValueError if none of a plan's strikes happens, for example because the operator changed."""
    if all(strike.what == LATE for strike in plan.strikes):
        return
    if not any(told.who == "plan" for told in play(workload, plan).story):
        raise ValueError(
            f"{plan} strikes nothing: in the undisturbed run, the operator makes"
            f" {len(undisturbed.writes)} writes and {undisturbed.reads} reads, and opens"
            f" {undisturbed.watches} watches"
        )


def _add(report: Report, plays: Plays, failure: Failure, references: Callable[[], Sequence[Played]]) -> None:
    """
    Shrink a failure's plan and add the failure to a report, or count it with a similar failure.

    Args: references: returns runs in which the operator starts late or restarts.
    """
    plan = failure.plan
    if _is_counted(report, failure, plan):
        return
    if len(report.failures) == _MOST_FAILURES:
        return
    if not report.is_interrupted:
        failure = plays.shrunk(failure)
    if not _is_counted(report, failure, plan):
        for reference in references():
            failure = failure.weighed(reference, report.undisturbed)
        report.failures.append(failure)


def _is_counted(report: Report, failure: Failure, plan: Plan) -> bool:
    """
    Count a failure as similar to an earlier one if the report already has all the failure's verdicts, apart
    from details.

    Args: plan: the failure's plan before it was shrunk. Returns: whether the failure was counted.
    """
    known = {gist: index for index, one in reversed([*enumerate(report.failures)]) for gist in _gists(one)}
    if not known.keys() >= set(_gists(failure)):
        return False
    index = known[_gists(failure)[0]]
    like_it = report.failures[index]
    report.failures[index] = replace(like_it, others=[*like_it.others, plan])
    return True


def _gists(failure: Failure) -> list[str]:
    return [_DETAILS.sub("", words) for words in failure.verdicts]


def _unseen(workload: Workload, undisturbed: Played) -> list[str]:
    """Return a phrase for each behaviour that the workload does not test."""
    changes = (act.who == USER and act.changes("spec") for act in undisturbed.acts)
    chance = sorted({f"{'.'.join(map(str, path))} of {key}" for key, *path in undisturbed.chance.paths})
    return [
        *["what a change of an object causes, because no step changes one"] * (not any(changes)),
        *["what a second process does, because replicas=1"] * (workload.replicas == 1),
        *[f"what depends on chance or time: {', '.join(chance[:_MOST_FIELDS])}"] * bool(chance),
        *[f"what is ignored: {', '.join(workload.ignore)}"] * bool(workload.ignore),
    ]


def _processors() -> int:
    """Return how many processors this process can use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor_seconds() -> float:
    """Return the CPU time of this process, and of its children that have ended."""
    return sum(os.times()[:4])
