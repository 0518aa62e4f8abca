"""The record of decisions: one object with a fake clock."""

from __future__ import annotations

import sys

from handloop.controller.runtime.sources.decisions import (
    DROPPED,
    FAILED,
    LINES,
    LONGEST,
    NAMES,
    PARKED,
    SETTLED,
    Decisions,
)
from handloop.informers.keys import ObjectName
from handloop.testing.fake_clock import FakeClock

A, B = ObjectName("default", "a"), ObjectName("default", "b")


def test_like_lines_are_counted_in_one() -> None:
    """With the time of the last: a resync that is dropped each minute is one line."""
    clock = FakeClock()
    decisions = Decisions(clock)
    for by in ("P", "P", "P", "Q", "P"):
        clock.advance(1)
        decisions.note(A, DROPPED, "Foo updated", by=by)
    decisions.note(A, PARKED, "it waits", seconds=3)
    ended = clock.now()
    assert [(each.what, each.by, each.count, ended - each.at) for each in decisions.of(A)] == [
        (DROPPED, "P", 3, 2),
        (DROPPED, "Q", 1, 1),
        (DROPPED, "P", 1, 0),
        (PARKED, "", 1, 0),
    ]


def test_a_name_has_its_last_lines() -> None:
    """And no text is longer than a line, however long the error of a server is."""
    clock = FakeClock()
    decisions = Decisions(clock)
    for turn in range(LINES + 2):
        began_at = clock.now()
        clock.advance(2)
        decisions.reconciled(A, FAILED, f"{turn}" * 1000, causes=(f"c{turn}",), began_at=began_at, changes="")
    lines = decisions.of(A)
    assert [each.cause for each in lines] == [f"c{turn}" for turn in range(2, LINES + 2)]
    assert {(len(each.text), each.milliseconds) for each in lines} == {(LONGEST, 2000)}
    decisions.reconciled(A, FAILED, lines[-1].text, causes=("c", "d", "e"), began_at=clock.now(), changes="")
    (*_, last) = decisions.of(A)
    assert (last.cause, last.count, last.milliseconds) == ("c and 2 more", 2, 0)
    assert decisions.of(B) == ()


def test_the_names_that_were_decided_about_last_stay() -> None:
    """A name that is decided about again is not the oldest any more; names that leave are forgotten."""
    decisions = Decisions(FakeClock())
    names = [ObjectName("default", f"n{number}") for number in range(NAMES)]
    for name in names:
        decisions.reconciled(name, SETTLED, "", causes=(), began_at=0, changes="")
    decisions.note(names[0], PARKED)
    decisions.note(A, PARKED)
    assert (decisions.of(names[1]), len(decisions.of(names[0])), len(decisions.names())) == ((), 2, NAMES)
    decisions.forget_names(lambda name: name == A)
    assert (decisions.of(A), len(decisions.names())) == ((), NAMES - 1)


def test_a_line_is_small() -> None:
    """Of 10,000 names with five lines each; what causes hold is the caller's own text."""
    decisions = Decisions(FakeClock())
    decisions.reconciled(A, SETTLED, "", causes=(), began_at=0, changes="")
    (line,) = decisions.of(A)
    assert sys.getsizeof(line) <= 100
