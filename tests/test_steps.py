"""The numbers of ARCHITECTURE's picture, in the source."""

from __future__ import annotations

import re

from tools.steps import COUNT, PAGE, steps, with_lines

_NUMBERS = range(1, COUNT + 1)


def test_each_step_stands_once_in_the_source() -> None:
    """Whoever follows the numbers finds each of them, in one place."""
    assert [step.number for step in steps()] == list(_NUMBERS)


def test_the_table_links_to_the_steps() -> None:
    """`python -m tools.steps` has nothing to write: each row has the words, the file and the line."""
    page = PAGE.read_text(encoding="utf-8")
    assert [int(number) for number in re.findall(r"^\| \((\d+)\) ", page, re.MULTILINE)] == list(_NUMBERS)
    assert with_lines(page) == page


def test_the_picture_has_the_steps() -> None:
    """Each number stands in the picture, with the words that the source begins with."""
    picture = PAGE.read_text(encoding="utf-8").partition("## The picture")[2].partition("| step |")[0]
    missing = [step for step in steps() if f"({step.number}) {step.words.split()[0]}" not in picture]
    assert not missing
