"""Chapter 16: your solutions to the exercises become a controller for Foos."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from handloop_learn.ex16_your_own import TRIALS, tried
from handloop_learn.exercise import WrongError
from handloop_learn.line_trace import LineTrace
from handloop_learn.own_controller import OwnController
from handloop_learn.own_pieces import PARTS, Pieces, own_pieces, source_of
from handloop_learn.prediction import YES
from handloop_learn.screen import Screen
from handloop_learn.source import whole

RECAP: Final = (
    "A controller consists of a few small parts. Each knows only the interface of the next one.",
    "A part that works alone also works with the others, because no part relies on seeing every event.",
    "A real cluster demands more, as chapters 10 and 11 show.",
)


class End(NamedTuple):
    """The parts that the reader wrote; the trials they passed; how many of the reader's lines ran."""

    own: list[str]
    passed: list[str]
    lines: dict[str, int]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    pieces = own_pieces({name: part.file for name, part in PARTS.items()}, Path.cwd())
    screen.tell(
        "Six of the exercises are parts of a controller. This chapter connects them. If your file for a "
        "part is not in this folder, our solution is used:"
    )
    rows = [(name, "yours" if name in pieces.files else "ours", part.file) for name, part in PARTS.items()]
    screen.table(("part", "from", "file"), rows)
    screen.tell("handloop's informers, workers and queue call these parts. This is the worker:")
    screen.code(whole(OwnController._run_worker))
    screen.ask("A Foo is created. Do these parts, which have never run together, create its Deployment?")
    trace, passed = LineTrace(pieces.places()), list[str]()
    try:
        for trial in tried(pieces, trace):
            passed.append(trial.comes)
            if len(passed) == 1:
                _ask_for_more(screen, passed[0])
            else:
                screen.line(f"{trial.happens}: {trial.comes}")
    except WrongError as wrong:
        screen.reveal(f"No: {wrong}. {wrong.hint}")
        return End([*pieces.files], passed, {})
    screen.reveal("Yes. Each part read the current state, and repaired the difference.", YES)
    lines = _show_lines(screen, pieces, trace)
    screen.tell(
        "`walkthrough check 16` writes a file that names your solutions. `check 16 FILE` tests them, and "
        "`live FILE` runs them on the live page, which shows your code at each step that it implements."
    )
    return End(list(pieces.files), passed, lines)


def _ask_for_more(screen: Screen, first: str) -> None:
    screen.reveal(f"Yes: {first}.", YES)
    screen.break_it(
        f"{TRIALS[1].happens}. Then {TRIALS[2].happens}. Then {TRIALS[3].happens}.",
        "Is the cluster in the desired state after each of these changes?",
    )


def _show_lines(screen: Screen, pieces: Pieces, trace: LineTrace) -> dict[str, int]:
    """Show the reader's files, and mark the lines that ran. Returns: how many ran, by part."""
    lines = {}
    for name, file in pieces.files.items():
        marks = {place.line: "*" for place in trace.hits if place.file == str(file)}
        lines[name] = len(marks)
        screen.tell(f"Your {name}. * means that the line has run.")
        screen.code(source_of(file), marks)
    return lines
