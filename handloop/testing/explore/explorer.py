"""
Every crash point of a controller, explored.

    report = run_plans(Workload(set_up, [applied(SITE), changed(SITE, patch), deleted(SITE)]), plans=500)
    report.check()

The workload runs once undisturbed, which tells where it writes. Then it runs again and again, from its
beginning, each time with a plan: a crash, lost reply, refusal, rival or stale view at one of its writes.
Then come pairs, triples, and other orders of threads. Each run is judged without help of its author; see
oracles.py. All happens in one process, in virtual time, one thread at a time: the same plan is the same run.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Final

from handloop.testing.explore.oracles import verdicts
from handloop.testing.explore.plan import LATE_PLAN, Plan
from handloop.testing.explore.plans import Places, all_plans
from handloop.testing.explore.play import play
from handloop.testing.explore.played import Played
from handloop.testing.explore.report import Failure, Report
from handloop.testing.explore.workload import Invariant, Workload

DEFAULT_PLANS: Final = 300
_MOST_FAILURES: Final = 10


def run_plans(
    workload: Workload,
    *,
    plans: int = DEFAULT_PLANS,
    seconds: float = math.inf,
    seed: int = 1,
    invariants: Sequence[Invariant] = (),
    replay: str = "",
    progress: Callable[[Report], object] = lambda _report: None,
) -> Report:
    """
    Play plans.

    Args: plans and seconds = how many, and how long, at most; the single strikes come first, then samples by
    the seed. replay = the line of a plan, which alone is played. progress is called after each plan.
    Raises: AssertionError if the undisturbed run fails already; ValueError for a line that is no plan.
    Blocks: for about a twentieth of a second a plan. It ends early after ten failures.
    """
    undisturbed = play(workload, Plan(), invariants)
    report = Report(undisturbed, seed)
    wrong = verdicts(undisturbed, undisturbed)
    if wrong:
        story = map(str, undisturbed.story)
        raise AssertionError("\n".join(["the undisturbed run fails already:", *wrong, *story]))
    first = () if workload.remembers else (LATE_PLAN,)
    followed = itertools.chain(first, all_plans(Places.of(undisturbed, workload.replicas), seed))
    chosen = iter([Plan.parse(replay)]) if replay else followed
    began, until = time.process_time(), time.monotonic() + seconds
    for plan in itertools.islice(chosen, plans):
        report.count(plan)
        played = play(workload, plan, invariants)
        if verdicts(undisturbed, played):
            report.failures.append(_shrunk(workload, undisturbed, played, invariants))
        report.seconds = time.process_time() - began
        progress(report)
        if len(report.failures) == _MOST_FAILURES or time.monotonic() >= until:
            break
    return report


def _shrunk(
    workload: Workload, undisturbed: Played, failed: Played, invariants: Sequence[Invariant]
) -> Failure:
    """The same failure with as few strikes as possible, and the plain order of threads if that will do."""
    plan, shown = failed.plan, failed
    smaller = [plan._replace(order=0)] if plan.order else []
    while True:
        smaller += [
            plan._replace(strikes=(*plan.strikes[:i], *plan.strikes[i + 1 :]))
            for i in range(len(plan.strikes))
        ]
        for one in smaller:
            played = play(workload, one, invariants)
            if verdicts(undisturbed, played):
                plan, shown, smaller = one, played, []
                break
        else:
            return Failure(shown, verdicts(undisturbed, shown))
