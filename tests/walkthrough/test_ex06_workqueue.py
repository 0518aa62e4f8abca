from __future__ import annotations

import pytest

from handloop.walkthrough.exercise_catalog import EXERCISES
from support.checks.chapters import judged

RIGHT = """
from handloop.workqueue.queue import ShutDown

def work(queue, sync):
    while True:
        try:
            key = queue.get()
        except ShutDown:
            return
        try:
            sync(key)
        except Exception:
            queue.add_rate_limited(key)
        else:
            queue.forget(key)
        finally:
            queue.done(key)
"""


def test_a_right_solution() -> None:
    """The loop of a worker as it should be."""
    report = judged(6, RIGHT)
    assert (report.wrong, len(report.right)) == ("", 4)


@pytest.mark.parametrize(
    ("text", "happened", "hint"),
    [
        # as it starts: it gives nothing back
        (EXERCISES[6].start, "still in `processing`", "done()"),
        (RIGHT.replace("queue.done(key)", "pass"), "`good` is still in `processing`", "needs its done()"),
        (
            RIGHT.replace(
                "finally:\n            queue.done", "finally:\n            key == 'bad' or queue.done"
            ),
            "`bad` failed, and is still in `processing`",
            "after a failure, too",
        ),
        (RIGHT.replace("queue.forget(key)", "pass"), "2 failures still count", "forget(key)"),
        (
            RIGHT.replace("queue.add_rate_limited(key)", "pass"),
            "`bad` failed, and is lost",
            "add_rate_limited",
        ),
        (RIGHT.replace("add_rate_limited", "add"), "without a pause", "waits longer each time"),
        (
            RIGHT.replace("except Exception", "except KeyError"),
            "ended when a sync raised",
            "Catch what sync raises",
        ),
        (RIGHT.replace("except ShutDown", "except KeyError"), "did not return", "raises ShutDown"),
        (RIGHT.replace("    while True:", "    for _ in range(1):"), "did not run again", "Loop."),
    ],
)
def test_a_wrong_solution_gets_its_own_hint(text: str, happened: str, hint: str) -> None:
    """What happened, and where to look."""
    report = judged(6, text)
    assert happened in report.wrong
    assert hint in report.hint
