"""How far an exploration is."""

from __future__ import annotations

import io
from collections.abc import Callable

from handloop_explore.plan import Plan
from handloop_explore.played import Played
from handloop_explore.progress import Progress
from handloop_explore.report import Report

PLAYED = Played(Plan(), [], [], [], 0, {}, [], "", [], 0)


class Terminal(io.StringIO):
    """A stream for people."""

    def isatty(self) -> bool:
        return True


def clock(*readings: float) -> Callable[[], float]:
    """One that is read so often."""
    return iter(readings).__next__


def test_a_terminal_has_one_line_with_a_bar() -> None:
    """By the time of the budget, or the number of plans, whichever is nearer; it goes in the end."""
    out = Terminal()
    progress = Progress(out, seconds=100, plans=30, now=clock(0, 10, 10.01, 50))
    report = Report(PLAYED, plans=15)
    progress.show(report)
    progress.show(report)
    report.failed = 1
    progress.show(report)
    progress.end()
    _, first, second, last = out.getvalue().split("\r")
    assert first == f"[{'#' * 12}{'.' * 12}]  50%  15 plans, 1.5 a second, none failed\x1b[K"
    assert second.endswith("15 plans, 0.3 a second, 1 failed\x1b[K")
    assert last == "\x1b[K"


def test_elsewhere_there_is_a_line_every_ten_seconds() -> None:
    """And nothing to take away."""
    out = io.StringIO()
    progress = Progress(out, seconds=40, now=clock(0, 9, 10, 19, 20))
    for plans in (9, 100, 19, 20):
        progress.show(Report(PLAYED, plans=plans))
    progress.end()
    lines = ["25%  100 plans, 10 a second, none failed", "50%  20 plans, 1.0 a second, none failed"]
    assert out.getvalue().splitlines() == lines
