"""The list of differences as text."""

from __future__ import annotations

from itertools import chain

from handloop_sandbox.differences import DIFFERENCES, bullets

WIDTH = 60


def test_every_difference_is_a_bullet() -> None:
    """One bullet each, in the list's order, with every word of it."""
    texts = [" ".join(bullet.split()) for bullet in f"\n{bullets(width=WIDTH)}".split("\n- ")[1:]]
    assert texts == [difference.text for difference in DIFFERENCES]


def test_lines_are_indented_and_short() -> None:
    """Every line keeps the indent and the width; continued lines stand below the text, not below the dash."""
    lines = bullets("    ", WIDTH).splitlines()
    assert {line[:6] for line in lines} == {"    - ", " " * 6}
    assert max(map(len, lines)) <= WIDTH


def test_no_answer_is_explained_twice() -> None:
    """Each recorded answer that differs has one reason."""
    answers = list(chain.from_iterable(difference.answers for difference in DIFFERENCES))
    assert len(answers) == len(set(answers))
