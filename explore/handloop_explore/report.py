"""An exploration's result, with its figures and the plans that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from handloop_explore.branches import Line, first_of_each
from handloop_explore.oracles import ends_as
from handloop_explore.plan import PLACES, Plan, Strike
from handloop_explore.plans import Places
from handloop_explore.played import Played
from handloop_explore.story import lines, parting

_MOST_OTHERS: Final = 5
_MOST_BRANCHES: Final = 8


@dataclass(frozen=True)
class Failure:
    """
    A plan that fails. played: the run of the shrunk plan; verdicts: the oracles' sentences.

    others: more plans that failed with the same verdicts; story: the run's events, as text for people;
    parting: a sentence on the first write that differs from the undisturbed run, or "" if none does; doubt:
    a reason to suspect the undisturbed run instead, or "".
    """

    played: Played
    verdicts: Sequence[str]
    others: Sequence[Plan] = ()
    story: Sequence[str] = ()
    parting: str = ""
    doubt: str = ""

    @classmethod
    def of(cls, undisturbed: Played, played: Played, verdicts: Sequence[str]) -> Self:
        """Return a run's failure, with its story."""
        return cls(played, verdicts, story=lines(undisturbed, played), parting=parting(undisturbed, played))

    def weighed(self, reference: Played, undisturbed: Played) -> Self:
        """
        Return the failure. If a reference run ends like the failing run, add a doubt about the undisturbed
        run.

        Args: reference: a run in which the operator starts after the users' steps, or restarts at rest.
        """
        if self.doubt or not ends_as(reference, self.played, undisturbed):
            return self
        anew = "starts after the users" if reference.plan.starts_at is not None else "restarts at rest"
        return replace(
            self, doubt=f"suspect the undisturbed run: if the operator {anew}, the end state is the same"
        )

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.played.plan

    @property
    def title(self) -> str:
        """The failure's plan, in words."""
        return f"Plan {self.plan}" if str(self.plan) else "Without a plan"

    @property
    def heading(self) -> str:
        """The failure's plan in words, with the reason to suspect the undisturbed run, if any."""
        return f"{self.title}: {self.doubt}" if self.doubt else self.title

    @property
    def like_it(self) -> str:
        """A sentence that names the first plans with the same verdicts. The JSON report names all of them."""
        count, shown = len(self.others), ", ".join(map(str, self.others[:_MOST_OTHERS]))
        return f"and {count} more plan{'s' * (count > 1)} with the same verdicts: {shown}" + (
            ", ..." if count > _MOST_OTHERS else ""
        )

    def text(self, command: str = "", option: str = "--replay") -> str:
        """
        Return the failure as text for people.

        Args: command: a command that replays the failure when `option` and the plan are appended. An empty
        command is not shown.
        """
        shown = [self.heading[:1].lower() + self.heading[1:], *(f"  ! {words}" for words in self.verdicts)]
        if self.others:
            shown.append(f"  {self.like_it}")
        if command and str(self.plan):
            shown.append(f"  replay it: {command} {option} {self.plan}")
        if self.parting:
            shown.append(f"  {self.parting}")
        return "\n".join([*shown, *(f"  {line}" for line in self.story)])


class UndisturbedError(AssertionError):
    """The undisturbed run fails, so no run can be compared with it. Field: report, with this failure."""

    def __init__(self, report: Report) -> None:
        self.report = report
        (failure,) = report.failures
        super().__init__("\n".join(["the undisturbed run already fails:", *failure.verdicts, *failure.story]))


@dataclass
class Report:
    """
    The result of an exploration.

    undisturbed: the run without a plan; plans, failed: how many plans were played, and how many failed;
    tried: how often each kind of strike was planned; seconds: the CPU time of `timed_plans` plans;
    wall_seconds: the wall time; is_interrupted: whether Ctrl-C ended the exploration; failures: one failure
    of each kind; places: where plans can strike; struck: the strikes of all plans; code: the lines of the
    operator's code; lines: the lines that runs reached; unseen: phrases that name what the workload cannot
    show.
    """

    undisturbed: Played
    seed: int = 1
    plans: int = 0
    failed: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    timed_plans: int = 0
    wall_seconds: float = 0.0
    is_interrupted: bool = False
    failures: list[Failure] = field(default_factory=list)
    places: Places = field(default_factory=lambda: Places(()))
    struck: set[Strike] = field(default_factory=set)
    lines: Collection[Line] = ()
    code: Sequence[Line] = ()
    unseen: Sequence[str] = ()

    @classmethod
    def of_undisturbed(cls, undisturbed: Played, verdicts: Sequence[str]) -> Self:
        """Return the report for a failure of the undisturbed run."""
        return cls(undisturbed, failed=1, failures=[Failure.of(undisturbed, undisturbed, verdicts)])

    def count(self, plan: Plan) -> None:
        """Count a plan that has been played."""
        self.plans += 1
        self.tried.update(strike.what for strike in plan.strikes)
        self.struck.update(plan.strikes)

    @property
    def has_ended(self) -> bool:
        """Whether the undisturbed run has ended. If not, the report has no state to show."""
        return bool(self.undisturbed.states)

    @property
    def plans_per_second(self) -> float:
        """Plans per second of CPU time, or 0 if the time is not known yet."""
        return self.timed_plans / self.seconds if self.seconds else 0.0

    @property
    def plans_by_the_clock(self) -> float:
        """Plans per second of wall time."""
        return self.plans / self.wall_seconds if self.wall_seconds else 0.0

    @property
    def head(self) -> str:
        """The figures, in one line."""
        plans = "1 plan" if self.plans == 1 else f"{self.plans} plans"
        figures = [plans, f"{self.plans_by_the_clock:.0f} a second", f"{self.failed} failed"]
        if self.timed_plans:
            figures[1] += f" ({self.plans_per_second:.0f} a second of processor time)"
        return ", ".join(figures + ["interrupted"] * self.is_interrupted)

    def text(self, command: str = "", option: str = "--replay") -> str:
        """Return the figures and failures, with replay commands, as text. Args: the same as Failure.text."""
        about = "\n".join([self.head, *self.covered])
        return "\n\n".join([about, *(failure.text(command, option) for failure in self.failures)])

    @property
    def covered(self) -> list[str]:
        """Lines that tell which places were struck, which branches ran, and what the workload cannot show."""
        struck = {(one.where, one.number) for one in self.struck}
        parts = []
        for where, words in PLACES.items():
            numbers = [one.number for one in self.places.places if one.where == where]
            count = sum((where, number) in struck for number in numbers)
            parts += [f"{count} of {len(numbers)} {words}"] * bool(numbers)
        singles = {Strike(one.number, what, one.where) for one in self.places.places for what in one.whats}
        found = []
        if parts:
            found.append(
                f"struck: {', '.join(parts)}; {len(singles & self.struck)} of {len(singles)} single strikes"
            )
        if self.code:
            left = [one for one in self.code if one not in self.lines]
            taken = f"{len(self.code) - len(left)} of {len(self.code)} lines of the operator's code"
            branches = ", ".join(map(str, first_of_each(left, self.code)[:_MOST_BRANCHES]))
            found.append(f"taken: {taken}" + f", not the branches at {branches}" * bool(left))
        return found + [f"not seen: {'; '.join(self.unseen)}"] * bool(self.unseen)

    def document(self) -> dict[str, Any]:
        """Return the report as a JSON document for programs."""
        failures = [
            {
                "plan": str(one.plan),
                "verdicts": list(one.verdicts),
                "others": [str(plan) for plan in one.others],
                "parting": one.parting,
                "doubt": one.doubt,
                "story": list(one.story),
            }
            for one in self.failures
        ]
        return {
            "plans": self.plans,
            "failed": self.failed,
            "seconds": round(self.seconds, 1),
            "wall_seconds": round(self.wall_seconds, 1),
            "seed": self.seed,
            "strikes": dict(self.tried),
            "covered": self.covered,
            "failures": failures,
        }

    def check(self) -> None:
        """Raises: AssertionError with the report's text if a plan failed."""
        if self.failures:
            raise AssertionError(self.text())
