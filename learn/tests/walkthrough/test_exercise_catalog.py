"""
The checks of the exercises against files as readers write them: exercises/NN.txt, one for each exercise.

`== right: WHAT` begins a solution that differs from ours, in learn/solutions, `== wrong: HAPPENED => HINT` a
mistake. Its text is a whole file; or a change of ours, fragments to take out (`-|`) and to put in (`+|`); or
`start`, the file that is handed out.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from handloop_learn import ex16_your_own
from handloop_learn.exercise_catalog import EXERCISES
from support.checks.chapters import judged

SOLUTIONS: Final = Path(__file__).parents[2] / "solutions"
FEWEST_RIGHT, FEWEST_WRONG = 3, 10
WHOLE: Final = 16
"""The exercise whose file names others: a case changes those, which begin as ours."""
BESIDE_OURS: Final = f"""
import shutil
from pathlib import Path
HERE = Path(__file__).parent
shutil.copytree({str(SOLUTIONS)!r}, HERE, dirs_exist_ok=True)
def change(name, before, after):
    text = (HERE / name).read_text()
    assert before in text
    (HERE / name).write_text(text.replace(before, after))
"""


class Case(NamedTuple):
    """One file of a reader: the number of its exercise, what must come of it, and its text."""

    number: int
    happened: str
    hint: str
    text: str


def ours(number: int) -> str:
    """Our solution."""
    return (SOLUTIONS / EXERCISES[number].file).read_text(encoding="utf-8")


def cases(kind: str) -> list[Case]:
    """The right ones, or the wrong ones."""
    found = []
    for number in EXERCISES:
        file = Path(__file__).parent / f"exercises/{number:02}.txt"
        parts = re.split(r"^== (right|wrong): (.*)\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for name, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            if name == kind:
                happened, _, hint = title.partition(" => ")
                found.append(Case(number, happened, hint, whole(number, text)))
    return found


def whole(number: int, text: str) -> str:
    """The file of a case."""
    if text.strip() == "start":
        return EXERCISES[number].start
    if number == WHOLE:
        return f"{BESIDE_OURS}{ours(number)}{text}"
    if text and not text.startswith(("-|", "+|")):
        return text
    changed = ours(number)
    blocks = [[*lines] for _, lines in groupby(text.splitlines(), key=lambda line: line[:2])]
    for before, after in zip(blocks[::2], blocks[1::2], strict=True):
        out, into = ("\n".join(line[2:] for line in lines) for lines in (before, after))
        assert out in changed, out
        changed = changed.replace(out, into)
    return changed


RIGHT, WRONG = cases("right"), cases("wrong")


@pytest.mark.parametrize("number", EXERCISES)
def test_our_solution_is_right(number: int) -> None:
    """In all that is checked."""
    report = judged(number, whole(number, ""))
    assert (report.wrong, len(report.right) >= 3) == ("", True)


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: f"{case.number}-{case.happened}")
def test_another_right_solution_is_right_too(case: Case) -> None:
    """In as many things as ours."""
    report = judged(case.number, case.text)
    assert report.wrong == ""
    if case.number != WHOLE:
        assert report.right == judged(case.number, ours(case.number)).right


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case.number}-{case.happened}")
def test_a_wrong_solution_gets_its_own_hint(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened, and where to look."""
    monkeypatch.setattr(ex16_your_own, "PATIENCE_SECONDS", 3.0)
    report = judged(case.number, case.text)
    assert case.happened in report.wrong
    assert case.hint in report.hint


@pytest.mark.parametrize("number", EXERCISES)
def test_each_check_meets_what_readers_write(number: int) -> None:
    """Three other right solutions, and ten wrong ones, no two alike."""
    right, wrong = ({case.text for case in kind if case.number == number} for kind in (RIGHT, WRONG))
    assert len(right) >= FEWEST_RIGHT
    assert len(wrong) >= FEWEST_WRONG
    assert ours(number) not in right | wrong
