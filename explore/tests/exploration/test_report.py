"""What an exploration found, for people and programs."""

from __future__ import annotations

from handloop_explore.branches import Line
from handloop_explore.plan import LATE_PLAN, Plan
from handloop_explore.plans import Place, Places
from handloop_explore.played import Played, State, Told
from handloop_explore.report import Failure, Report

STORY = [Told(number, "process 1", f"write {number}") for number in range(100)]
PLAYED = Played(Plan.parse("3:lost"), [], STORY, [], 0, {}, [], "", [], 0)


def test_the_kinds_of_strikes_are_counted() -> None:
    """As planned, with the plans."""
    report = Report(PLAYED, seed=7)
    for line in ("1:lost", "1:lost,2:409/3", "/4"):
        report.count(Plan.parse(line))
    document = report.document()
    assert (document["plans"], document["seed"], document["strikes"]) == (3, 7, {"lost": 2, "409": 1})


def test_the_figures() -> None:
    """Plans by the clock, and of processor time, once that is known."""
    report = Report(PLAYED, plans=30, failed=3, wall_seconds=2.0)
    assert report.head == "30 plans, 15 a second, 3 failed"
    report.seconds, report.timed_plans, report.is_interrupted = 3.0, 30, True
    assert report.head == "30 plans, 15 a second (10 a second of processor time), 3 failed, interrupted"


def test_what_was_covered_is_told() -> None:
    """Of each sort of place so many of how many; lines of the code, and what this cannot show."""
    places = Places(
        [Place("", 1, "a", ("lost", "409")), Place("", 2, "b", ("lost",)), Place("q", 1, "q", ("crash",))]
    )
    code = [Line("op.py", number) for number in range(1, 6)]
    report = Report(PLAYED, places=places, code=code, lines=code[:2], unseen=["the rest"])
    report.count(Plan.parse("1:lost,q1:crash/3"))
    assert report.covered == [
        "struck: 1 of 2 writes, 1 of 1 settled(); 2 of 4 single strikes",
        "taken: 2 of 5 lines of the operator's code, not the branches at op.py:3",
        "not seen: the rest",
    ]
    assert "\nstruck: 1 of 2" in report.text()
    assert report.document()["covered"] == report.covered


def test_a_failure_says_which_of_the_two_runs_to_doubt() -> None:
    """The undisturbed one, where an operator that begins anew ends as the failing one does."""
    good, other = (PLAYED._replace(states=[State({"Foo n/a": {"x": x}}, [])]) for x in (1, 2))
    anew = other._replace(plan=Plan.parse("q1:crash"))
    failure = Failure(other, ["Foo n/a is another"])
    assert failure.weighed(anew._replace(states=good.states), good).heading == "Plan 3:lost"
    words = "suspect the undisturbed run: if the operator restarts at rest, the end state is the same"
    weighed = failure.weighed(anew, good)
    assert weighed.heading == f"Plan 3:lost: {words}"
    assert weighed.text().startswith(f"plan 3:lost: {words}\n")
    assert "starts after the users" in failure.weighed(other._replace(plan=LATE_PLAN), good).doubt
    assert Report(PLAYED, failures=[weighed]).document()["failures"][0]["doubt"] == words


def test_failures_that_are_alike_are_told_of_once() -> None:
    """With the first of the others; programs get all."""
    one, many = ([Plan.parse(f"{n}:lost") for n in range(1, last)] for last in (2, 13))
    assert "  and 1 more plan with the same verdicts: 1:lost\n" in f"{Failure(PLAYED, [], one).text()}\n"
    failure = Failure(PLAYED, ["a storm"], many)
    words = "and 12 more plans with the same verdicts: 1:lost, 2:lost, 3:lost, 4:lost, 5:lost, ..."
    assert words in failure.text()
    assert Report(PLAYED, failures=[failure]).document()["failures"][0]["others"][11] == "12:lost"
