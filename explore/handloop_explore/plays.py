"""Plays and judges a workload's plans, and shrinks failures."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handloop_explore.branches import Line
from handloop_explore.forks import Lost, can_fork, played_by_forks
from handloop_explore.oracles import verdicts
from handloop_explore.plan import Plan
from handloop_explore.play import Forking, play
from handloop_explore.played import Played
from handloop_explore.report import Failure
from handloop_explore.workload import Invariant, Workload


class _Judged(NamedTuple):
    """A run's failure or None, and the lines that it reached but the undisturbed run did not."""

    failure: Failure | None
    lines: frozenset[Line]


class Plays:
    """
    Plays a workload's plans, and compares each run with the undisturbed one.

    Field: lines, the lines of the operator's code that any run has reached.
    """

    def __init__(
        self, workload: Workload, undisturbed: Played, invariants: Sequence[Invariant], processes: int
    ) -> None:
        """Args: processes: how many forks play at once. If the system cannot fork, this process plays."""
        self._workload = workload
        self._undisturbed = undisturbed
        self._invariants = invariants
        self._processes = processes
        self.lines = set(undisturbed.lines)

    def judged(self, plans: Sequence[Plan], until: float = math.inf) -> Iterator[tuple[int, Failure | None]]:
        """
        Play plans in forks. If the system cannot fork, or there is only one plan, play in this process.

        Args: until: the latest time to end, on the clock of time.monotonic(). Yields: each plan's index and
        its failure, or None if it does not fail, in the order in which the plans end.
        """
        outcomes = self._forked(plans, until) if can_fork() and len(plans) > 1 else self._here(plans, until)
        for index, outcome in outcomes:
            if isinstance(outcome, Lost):
                nothing = self._undisturbed._replace(plan=plans[index], writes=[], story=[])
                yield index, Failure(nothing, [outcome.why])
            else:
                self.lines |= outcome.lines
                yield index, outcome.failure

    def shrunk(self, failure: Failure) -> Failure:
        """
        Shrink a failing plan to as few strikes as possible and, if it still fails, to the usual thread order.

        Ctrl-C ends the search. Returns: the failure of the smallest plan found.
        """
        plan = failure.plan
        smaller = [plan._replace(order=0)] if plan.order else []
        try:
            while smaller := smaller + _without_one(failure.plan):
                found = {index: one for index, one in self.judged(smaller) if one}
                if not found:
                    break
                failure, smaller = found[min(found)], []
        except KeyboardInterrupt:
            pass
        return failure

    def _here(self, plans: Sequence[Plan], until: float) -> Iterator[tuple[int, _Judged | Lost]]:
        for index, plan in enumerate(plans):
            if time.monotonic() >= until:
                break
            try:
                played = play(self._workload, plan, self._invariants, known=self._undisturbed.lines)
                yield index, self._judge(played)
            except Exception:  # noqa: BLE001 - a verdict, as from a fork
                yield index, Lost(traceback.format_exc())

    def _forked(self, plans: Sequence[Plan], until: float) -> Iterator[tuple[int, _Judged | Lost]]:
        def play_trunk(forking: Forking) -> None:
            known = self._undisturbed.lines
            play(self._workload, Plan(), self._invariants, forking=forking, known=known)

        return played_by_forks(play_trunk, plans, self._judge, processes=self._processes, until=until)

    def _judge(self, played: Played) -> _Judged:
        wrong = verdicts(self._undisturbed, played)
        failure = Failure.of(self._undisturbed, played, wrong) if wrong else None
        return _Judged(failure, played.lines - self._undisturbed.lines)


def _without_one(plan: Plan) -> list[Plan]:
    """Return the plans with one strike fewer. A plan without strikes is left out; its run is known."""
    if len(plan.strikes) <= 1:
        return []
    return [
        plan._replace(strikes=(*plan.strikes[:i], *plan.strikes[i + 1 :])) for i in range(len(plan.strikes))
    ]
