"""Draws two runs as SVG, with time from left to right and a lane for each actor. Shows where they diverge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final, NamedTuple

from handloop_explore.played import Played, Told
from handloop_explore.story import line_of, parts_at, with_others

MOST_LINES: Final = 60
"""The largest number of lines that are shown per run. An endless loop of writes would have thousands."""
_LINES_BEFORE: Final = 12
_COLUMN: Final = 30.0
_LANE: Final = 36.0
_NAMES: Final = 116.0
_RADIUS: Final = 11.0
_TIMES: Final = 24.0
_TIME_WIDTH: Final = 50.0
_REFUSED: Final = 400
_ASIDE: Final = ("plan", "rival")
"""The actors that only the failing run has."""


class Window(NamedTuple):
    """
    The lines of two runs' stories that a page shows. Both stories are shown from the same line on.

    begin: how many earlier lines are not shown, because they are equal; lengths: the lengths of the whole
    stories; parting: for each story, the index of the write at which it diverges, or the story's length.
    """

    begin: int
    undisturbed: Sequence[Told]
    failing: Sequence[Told]
    lengths: tuple[int, int]
    parting: tuple[int, int]


def window(undisturbed: Played, failing: Played) -> Window:
    """Return the lines just before the first line that differs, and the lines from there on."""
    good, bad = list(with_others(undisturbed)), list(with_others(failing))
    usual, here = parts_at(undisturbed, failing)
    lengths = len(good), len(bad)
    pairs = enumerate(zip(good, bad, strict=False))
    differs = next((nth for nth, (told, other) in pairs if _plain(told) != _plain(other)), min(lengths))
    begin = max(0, differs - _LINES_BEFORE)
    end = begin + MOST_LINES
    return Window(begin, good[begin:end], bad[begin:end], lengths, (line_of(good, usual), line_of(bad, here)))


def _plain(told: Told) -> tuple[float, str]:
    return round(told.at, 2), told.words


def timeline(shown: Window, undisturbed: Played, failing: Played) -> str:
    """
    Return the drawing as HTML, with the lanes in a scrolling box beside their names.

    Both runs share one time axis. Each mark shows the number of its line in the story.
    """
    runs = [
        _Run("undisturbed", shown.undisturbed, undisturbed, shown.parting[0] - shown.begin, shown.begin),
        _Run("failing", shown.failing, failing, shown.parting[1] - shown.begin, shown.begin),
    ]
    places, times, width = _placed(runs)
    height = _TIMES + sum(run.height for run in runs)
    names: list[str] = []
    drawn = [_text(x, 14, f"{at:.10g} s", "now") for at, x in times]
    top = _TIMES
    for run, columns in zip(runs, places, strict=True):
        names.append(_text(4, top + 16, run.title, "name"))
        names += [_text(12, top + run.lane(who) + 4, who, "now") for who in run.lanes]
        drawn += run.drawn(columns, top, width)
        top += run.height
    label = f"The undisturbed run and the run of plan {failing.plan}, which the story below describes"
    left = _svg(_NAMES, height, names, 'aria-hidden="true"')
    right = _svg(width, height, drawn, f'role="img" aria-label="{label}"')
    region = f'tabindex="0" role="region" aria-label="Timeline of plan {failing.plan}"'
    return f'<div class="lanes">{left}<div class="scroll" {region}>{right}</div></div>'


class _Run:
    """Draws one of the two runs, with its lanes from top to bottom, and its marks."""

    def __init__(self, title: str, story: Sequence[Told], played: Played, parting: int, begin: int) -> None:
        self.title = title
        self.story = story
        self._played = played
        self._parting = parting
        self._begin = begin
        self._met = {told.write for told in story if told.who != "plan"}
        seen = {told.who for told in [*story, *played.story]} | {"user", "process 1"}
        aside = [who for who in ("user", *_ASIDE) if who in seen]
        processes = sorted(seen - {*aside, "server"}, key=lambda who: (len(who), who))
        self.lanes = [*aside, *processes, "server"]
        self.height = 30 + _LANE * len(self.lanes)

    def lane(self, who: str) -> float:
        """Return the distance of a lane from the top of the run."""
        return 40 + _LANE * self.lanes.index(who)

    def drawn(self, columns: Sequence[float], top: float, width: float) -> Iterator[str]:
        """Yield the SVG parts of the run. Args: columns: the position of each line; top: the run's top."""
        bottom = top + self.lane("server")
        for who in self.lanes:
            y = top + self.lane(who)
            yield _line(*self._life(who, columns, width, y), "wire")
        for nth, (told, x) in enumerate(zip(self.story, columns, strict=True)):
            if nth == self._parting:
                yield _line(x - 13, top + 6, x - 13, bottom + 14, "part")
                yield _text(x - 9, top + 14, "they diverge", "bad part-words")
            yield from self._mark(nth, told, x, top)

    def _life(self, who: str, columns: Sequence[float], width: float, y: float) -> tuple[float, ...]:
        """Return the ends of a lane's line. A process's line covers only the time in which it runs."""
        begin, end = 0.0, width
        for told, x in zip(self.story, columns, strict=True):
            if told.who == who and told.starts_process:
                begin = x
            if told.who == who and told.ends_process:
                end = x
        return begin, y, end, y

    def _mark(self, nth: int, told: Told, x: float, top: float) -> Iterator[str]:
        y, server = top + self.lane(told.who), top + self.lane("server")
        shape = f'<circle cx="{x}" cy="{y}" r="{_RADIUS}"/>'
        if told.who == "plan":
            yield from self._strike(nth, told, x, top)
            shape = f'<path d="M{x} {y - 13}L{x + 13} {y}L{x} {y + 13}L{x - 13} {y}z"/>'
        elif told.write and told.who == "server":
            yield _text(x, server + 23, "none", "code bad")
        elif told.write:
            yield from self._sent(told.write, x, y, server)
        elif told.who in ("user", "rival"):
            yield _line(x, y + _RADIUS, x, server, "sent")
        number = _text(x, y + 4, str(self._begin + nth + 1), "code")
        cls = "mark bad" if told.who == "plan" or told.ends_process else "mark"
        yield f'<g class="{cls}"><title>{escape(told.words)}</title>{shape}{number}</g>'

    def _strike(self, nth: int, told: Told, x: float, top: float) -> Iterator[str]:
        """Yield the line from a strike to the server, and the name of the fault."""
        y, server = top + self.lane("plan"), top + self.lane("server")
        yield _line(x, y, x, server, "struck")
        # Labels alternate between two heights, so that adjacent labels do not overlap.
        is_above = sum(other.who == "plan" for other in self.story[:nth]) % 2 == 0
        yield _text(x + 17, y + (-5 if is_above else 15), _what(told), "bad code-left")
        if told.write and told.write not in self._met:
            yield _line(x, y + _RADIUS, x, server, "lost")
            yield _text(x, server + 14, "none", "code bad")

    def _sent(self, write: int, x: float, y: float, server: float) -> Iterator[str]:
        """Yield the line from a write to the server, and the status of the server's answer."""
        status = self._played.writes[write - 1].status
        is_good = 0 < status < _REFUSED
        yield _line(x, y + _RADIUS, x, server, "sent" if status else "lost")
        yield _text(x, server + 14, str(status or "none"), "code" if is_good else "code bad")


def _what(told: Told) -> str:
    """Return the name of a strike's fault."""
    return told.words.rpartition(": ")[2]


def _placed(runs: Sequence[_Run]) -> tuple[list[list[float]], list[tuple[float, float]], float]:
    """Return the positions of each run's lines, the labelled times with their positions, and the width."""
    rows = [_by_time(run.story) for run in runs]
    x, before, written = 20.0, None, -math.inf
    places: list[list[float]] = [[] for _ in runs]
    times = []
    for at in sorted({at for row in rows for at in row}):
        if before is not None:
            x += 14 * math.log10(1 + at - before)
        if x - written >= _TIME_WIDTH:
            times.append((at, x - 8))
            written = x
        for place, row in zip(places, rows, strict=True):
            place += [x + _COLUMN * column for column in row.get(at, ())]
        x += _COLUMN * (1 + max(column for row in rows for column in row.get(at, (0,))))
        before = at
    return places, times, x + _COLUMN


def _by_time(story: Sequence[Told]) -> Mapping[float, list[int]]:
    """Return the columns of the lines at each time. A strike is in the column of the line that it strikes."""
    found: dict[float, list[int]] = {}
    column = 0
    for told in story:
        columns = found.setdefault(round(told.at, 2), [])
        column = column if columns else 0
        columns.append(column)
        column += told.who != "plan"
    return found


def _svg(width: float, height: float, parts: Sequence[str], attributes: str) -> str:
    return f'<svg width="{width:.0f}" height="{height:.0f}" {attributes}>{"".join(parts)}</svg>'


def _text(x: float, y: float, words: str, cls: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{cls}">{escape(words)}</text>'


def _line(*ends_and_class: Any) -> str:
    x1, y1, x2, y2, cls = ends_and_class
    return f'<path class="{cls}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'
