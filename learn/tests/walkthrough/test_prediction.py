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
        ("80 milliseconds", 0.08, "right"),
        ("1,000", 1000, "right"),
        ("1 000 s", 1000, "right"),
        ("about 12,345,000", 12_345_000, "right"),
        ("0,005", 0.005, "right"),
        ("16m40s", 1000, "right"),
        ("16 min 40 s", 1000, "right"),
        ("1h", 3600, "right"),
        ("3 more, 2 min", 3, "right"),
        ("none", 0, "right"),
        ("3", 2, "near"),
        ("200", 2, "it is 2"),
        ("1", 0, "it is 0"),
        ("Yes.", YES, "right"),
        ("no, never", YES, "not so"),
        ("nope", NO, "right"),
        ("the Controller", Words(("controller",), ("server",)), "right"),
        ("the store, not the FIFO", Words(("store",), ("fifo",)), "right"),
        ("the FIFO, not the store", Words(("store",), ("fifo",)), "not so"),
        ("ada works, bob waits", Words(("ada",), ("bob", "both")), "right"),
        ("bob works and ada doesn't", Words(("ada",), ("bob", "both")), "not so"),
        ("it lists, it does not watch", Words(("list", "lists"), ("watch", "nothing")), "right"),
        ("the server!", Words(("controller",), ("server",)), "not so"),
    ],
)
def test_a_prediction_is_graded(said: str, truth: Truth, verdict: str) -> None:
    """Numbers by how near they are, words by those that they have."""
    assert grade(said, truth) == f"you predicted {said!r}: {verdict}."


@pytest.mark.parametrize(
    "said", ["", "what is this?", "next", "no idea", "I don't know", "server, controller"]
)
@pytest.mark.parametrize("truth", [2, YES, Words(("controller",), ("server",))])
def test_an_answer_about_something_else_is_passed_over(said: str, truth: Truth) -> None:
    """Nothing is said of it."""
    assert grade(said, truth) == ""
