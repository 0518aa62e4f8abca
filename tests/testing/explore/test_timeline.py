"""Two runs as a drawing in lanes."""

from __future__ import annotations

import re

from handloop.testing.explore.plan import Plan
from handloop.testing.explore.played import Played, Told, Write
from handloop.testing.explore.timeline import MOST_LINES, timeline, window


def run(plan: str, *lines: tuple[float, str, str, int], statuses: tuple[int, ...] = ()) -> Played:
    writes = [Write(number, 1.0, "PUT", "/a", status) for number, status in enumerate(statuses, 1)]
    return Played(Plan.parse(plan), writes, [Told(*line) for line in lines], [], 0, {}, [], "", [], 0)


CREATE = (1.0, "user", "the user: create <a>", 0)
FIRST = (2.0, "process 1", "write 1: PUT /a: 200", 1)
GOOD = run("", CREATE, FIRST, (2.0, "process 1", "write 2: PUT /a: 200", 2), statuses=(200, 200))
BAD = run(
    "2:crash-after",
    CREATE,
    FIRST,
    (2.0, "plan", "the plan strikes write 2, PUT /a: crash-after", 2),
    (2.0, "process 1", "the process ends, as by kill -9", 0),
    (3.0, "process 2", "another process starts", 0),
    statuses=(200, 201),
)


def test_runs_part_at_the_first_lines_that_differ() -> None:
    """The plan's own lines aside; readings of the clock do not count, and equal runs part at their ends."""
    assert window(GOOD, BAD).parting == (2, 3)
    later = GOOD._replace(story=[told._replace(at=told.at + 1e-6) for told in GOOD.story])
    assert window(GOOD, later).parting == (3, 3)
    assert window(later._replace(story=later.story[:2]), GOOD).parting == (2, 2)


def test_a_window_shows_what_is_around_the_strike() -> None:
    """A page of a storm stays small; both runs begin at the same line."""
    before = [Told(0.5, "process 1", f"write {number}", 0) for number in range(40)]
    after = [Told(9.0, "process 2", f"write {number}", 0) for number in range(500)]
    shown = window(GOOD._replace(story=before + GOOD.story), BAD._replace(story=before + BAD.story + after))
    assert (shown.begin, len(shown.failing)) == (30, MOST_LINES)
    assert shown.undisturbed[0] == shown.failing[0] == before[30]


def test_the_same_line_is_at_the_same_place_in_both_runs() -> None:
    """With its number and its words; a struck write shows what came of it."""
    svg = timeline(window(GOOD, BAD), GOOD, BAD)
    places = re.findall(r'<title>([^<]*)</title><circle cx="([\d.]+)"', svg)
    assert [words for words, _ in places][:2] == ["the user: create &lt;a&gt;", "write 1: PUT /a: 200"]
    assert [x for _, x in places[:2]] == [x for _, x in places[3:5]]
    seen = re.findall(r">(20\d|they part|failing|crash-after|process 2|[13] s)<", svg)
    failing = ["200", "crash-after", "201", "they part"]
    assert seen == ["failing", "process 2", "1 s", "3 s", "200", "they part", "200", *failing]
