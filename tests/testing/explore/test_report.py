"""What an exploration found, for people and programs."""

from __future__ import annotations

from handloop.testing.explore.plan import Plan
from handloop.testing.explore.played import Played, Told
from handloop.testing.explore.report import Failure, Report

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


def test_failures_that_are_alike_are_told_of_once() -> None:
    """With the first of the others; programs get all."""
    one, many = ([Plan.parse(f"{n}:lost") for n in range(1, last)] for last in (2, 13))
    assert "  and 1 more plan with the same verdicts: 1:lost\n" in f"{Failure(PLAYED, [], one).text()}\n"
    failure = Failure(PLAYED, ["a storm"], many)
    words = "and 12 more plans with the same verdicts: 1:lost, 2:lost, 3:lost, 4:lost, 5:lost, ..."
    assert words in failure.text()
    assert Report(PLAYED, failures=[failure]).document()["failures"][0]["others"][11] == "12:lost"
