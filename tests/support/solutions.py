"""The verdicts of the checks of the exercises on a reader's file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from handloop.walkthrough.exercise_catalog import EXERCISES
from handloop.walkthrough.judge import Report, judge
from handloop.walkthrough.quiet_logs import quiet_logs


def judged(number: int, text: str) -> Report:
    """The verdict of the check of an exercise on a file with this text."""
    with tempfile.TemporaryDirectory() as folder, quiet_logs():
        file = Path(folder) / "solution.py"
        file.write_text(text, encoding="utf-8")
        return judge(EXERCISES[number].check, file)


def judged_start(number: int) -> Report:
    """The verdict on the starting file."""
    return judged(number, EXERCISES[number].start)
