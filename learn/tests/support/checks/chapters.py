"""A chapter and the check of an exercise as a test reads them: without pauses, what they say kept."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from handloop.seams.quiet_logs import quiet_logs
from handloop_learn.catalog import CHAPTERS
from handloop_learn.exercise_catalog import EXERCISES
from handloop_learn.judge import Report, judge
from handloop_learn.screen import Screen
from tools.chapter_pages import Page, file_of, lasting, page

T = TypeVar("T")
WIDTHS: Final = (40, 80, 100, 120)
WORDS_A_MINUTE: Final = 200
PROMPT_MINUTES: Final = 1 / 3


class Screens:
    """A chapter's screen, told on terminals of several widths at once, and on a page: outs by columns."""

    def __init__(self) -> None:
        self.outs = {columns: io.StringIO() for columns in WIDTHS}
        self.page = Page()
        self._screens = [*(Screen(out, columns=columns) for columns, out in self.outs.items()), self.page]

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*arguments: Any, **keywords: Any) -> None:
            for screen in self._screens:
                getattr(screen, name)(*arguments, **keywords)

        return call


def told(chapter: Callable[[Screen], T]) -> tuple[T, str]:
    """
    Tell a chapter, measure its lines and minutes, and compare its page.

    Returns: its end state; its text on 100 columns.
    """
    screens = Screens()
    with quiet_logs():
        end = chapter(cast("Screen", screens))
    for columns, out in screens.outs.items():
        assert [line for line in out.getvalue().splitlines() if len(line) > columns] == []
    text = screens.outs[100].getvalue()
    (one,) = (each for each in CHAPTERS if chapter.__module__.endswith(each.module))
    needed = len(text.split()) / WORDS_A_MINUTE + text.count("\n? ") * PROMPT_MINUTES
    assert abs(one.minutes - needed) <= 1.5, f"it takes {needed:.1f} minutes"
    # `python -m tools.chapter_pages` writes the page anew
    assert lasting(page(one, screens.page)) == lasting(file_of(one).read_text(encoding="utf-8"))
    return end, text


def judged(number: int, text: str) -> Report:
    """The verdict of the check of an exercise on a file with this text."""
    with tempfile.TemporaryDirectory() as folder, quiet_logs():
        file = Path(folder) / "solution.py"
        file.write_text(text, encoding="utf-8")
        return judge(EXERCISES[number].check, file)
