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


def test_a_long_story_is_told_without_its_middle() -> None:
    """In a text; programs get all of it."""
    report = Report(PLAYED, failures=[Failure(PLAYED, ["a storm"])])
    lines = report.text().splitlines()
    assert lines[2:5] == ["plan 3:lost", "  ! a storm", "      0.00 s  write 0"]
    assert "       ...    40 lines are left out" in lines
    assert lines[-1] == "     99.00 s  write 99"
    assert len(report.document()["failures"][0]["story"]) == len(STORY)
