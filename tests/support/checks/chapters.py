"""A chapter and the check of an exercise as a test reads them: without pauses, what they say kept."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from handloop.walkthrough.exercise_catalog import EXERCISES
from handloop.walkthrough.judge import Report, judge
from handloop.walkthrough.quiet_logs import quiet_logs
from handloop.walkthrough.screen import Screen

T = TypeVar("T")


def told(chapter: Callable[[Screen], T]) -> tuple[T, str]:
    """Tell a chapter. Returns: its end state, and what it wrote."""
    out = io.StringIO()
    with quiet_logs():
        return chapter(Screen(out)), out.getvalue()


def judged(number: int, text: str) -> Report:
    """The verdict of the check of an exercise on a file with this text."""
    with tempfile.TemporaryDirectory() as folder, quiet_logs():
        file = Path(folder) / "solution.py"
        file.write_text(text, encoding="utf-8")
        return judge(EXERCISES[number].check, file)
