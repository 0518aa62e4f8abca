from __future__ import annotations

from pathlib import Path

import pytest

import handloop.walkthrough
from handloop.walkthrough.catalog import CHAPTERS, Chapter

FOLDER = Path(handloop.walkthrough.__file__).parent


def test_the_catalog_has_every_chapter() -> None:
    """Each script is in the table, under its number, in order."""
    assert sorted(path.stem for path in FOLDER.glob("ch[0-9]*.py")) == [
        chapter.module for chapter in CHAPTERS
    ]
    assert [chapter.number for chapter in CHAPTERS] == list(range(len(CHAPTERS)))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.module)
def test_a_chapter_fits_on_two_screens(chapter: Chapter) -> None:
    """At most 80 lines."""
    assert len((FOLDER / f"{chapter.module}.py").read_text(encoding="utf-8").splitlines()) <= 80


def test_progress() -> None:
    """The number of the chapter among all, and its minutes."""
    assert CHAPTERS[3].progress == f"4/{len(CHAPTERS)}, about 4 min"
