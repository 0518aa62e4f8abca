from __future__ import annotations

import pytest

from handloop_learn.prediction import NO, YES, Truth, Words, grade


@pytest.mark.parametrize(
    ("said", "truth", "verdict"),
    [
        ("2", 2, "right"),
        ("two, I think", 2, "right"),
        ("2,5 seconds", 2.56, "right"),
        ("80ms", 0.08, "right"),
        ("none", 0, "right"),
        ("3", 2, "near"),
        ("200", 2, "it is 2"),
        ("1", 0, "it is 0"),
        ("Yes.", YES, "right"),
        ("no, never", YES, "it is otherwise"),
        ("nope", NO, "right"),
        ("the Controller", Words(("controller",), ("server",)), "right"),
        ("the server!", Words(("controller",), ("server",)), "it is otherwise"),
    ],
)
def test_a_prediction_is_graded(said: str, truth: Truth, verdict: str) -> None:
    """Numbers by how near they are, words by those that they have."""
    assert grade(said, truth) == f"you predicted {said!r}: {verdict}."


@pytest.mark.parametrize("said", ["", "what is this?", "next", "no idea", "I don't know"])
@pytest.mark.parametrize("truth", [2, YES, Words(("controller",), ("server",))])
def test_an_answer_about_something_else_is_passed_over(said: str, truth: Truth) -> None:
    """Nothing is said of it."""
    assert grade(said, truth) == ""
