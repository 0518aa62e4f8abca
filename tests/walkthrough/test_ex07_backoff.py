from __future__ import annotations

import pytest

from handloop.walkthrough.exercise_catalog import EXERCISES
from support.checks.chapters import judged

RIGHT = """
class Backoff:
    def __init__(self):
        self.failures = {}

    def when(self, key):
        before = self.failures.get(key, 0)
        self.failures[key] = before + 1
        return min(0.005 * 2.0 ** min(before, 1000), 1000)

    def forget(self, key):
        self.failures.pop(key, None)

    def num_requeues(self, key):
        return self.failures.get(key, 0)
"""


def test_a_right_solution() -> None:
    """The limiter of client-go."""
    report = judged(7, RIGHT)
    assert (report.wrong, len(report.right)) == ("", 5)


@pytest.mark.parametrize(
    ("text", "happened", "hint"),
    [
        # as it starts: it never waits longer
        (EXERCISES[7].start, "four failures wait [0.005, 0.005, 0.005, 0.005] s", "Count"),
        (RIGHT.replace("min(before, 1000)", "(before + 1)"), "the first failure waits 0.01 s", "*earlier*"),
        (RIGHT.replace("2.0 ** min(before, 1000)", "(1 + before)"), "0.015, 0.02] s", "Double"),
        (
            RIGHT.replace("(key, 0)", "(0, 0)").replace("[key]", "[0]"),
            "another key waits 0.08 s",
            "Count by key",
        ),
        (RIGHT.replace("min(before, 1000)", "before"), "after very many failures", "Bound the exponent"),
        (RIGHT.replace("return min(", "return max("), "the first failure waits 1000 s", "0.005"),
        (RIGHT.replace(", 1000)\n\n", ", 9e9)\n\n"), "a key waits 9e+09 s", "min()"),
        (
            RIGHT.replace("self.failures.pop(key, None)", "pass"),
            "after forget() the next failure waits",
            "Drop",
        ),
        (
            RIGHT.replace("self.failures.pop(key, None)", "self.failures.clear()"),
            "second failure of b",
            "Of that key only",
        ),
        (
            RIGHT.replace("return self.failures.get(key, 0)\n", "return 0\n"),
            "num_requeues is 0",
            "number of failures",
        ),
    ],
)
def test_a_wrong_solution_gets_its_own_hint(text: str, happened: str, hint: str) -> None:
    """What happened, and where to look."""
    report = judged(7, text)
    assert happened in report.wrong
    assert hint in report.hint
