from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import handloop_learn
from handloop_learn.catalog import CHAPTERS, Chapter
from tools.recorded_runs.catalog import RUNS

FOLDER = Path(handloop_learn.__file__).parent


def test_the_catalog_has_every_chapter() -> None:
    """Each script is in the table, under its number, in order."""
    assert sorted(path.stem for path in FOLDER.glob("ch[0-9]*.py")) == [
        chapter.module for chapter in CHAPTERS
    ]
    assert [chapter.number for chapter in CHAPTERS] == list(range(len(CHAPTERS)))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.module)
def test_each_function_of_a_chapter_fits_on_a_screen(chapter: Chapter) -> None:
    """A chapter is one file that one reads from top to bottom: no function has more than 45 lines."""
    tree = ast.parse((FOLDER / f"{chapter.module}.py").read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= 45] == []


def test_progress() -> None:
    """The number of the chapter among all, and its minutes."""
    assert CHAPTERS[3].progress == f"4/{len(CHAPTERS)}, about 4 min"


@pytest.mark.parametrize("chapter", [each for each in CHAPTERS if each.run], ids=lambda each: each.module)
def test_each_chapter_has_its_recording(chapter: Chapter) -> None:
    """The recording that a chapter names exists, and has the mark."""
    (run,) = (run for run in RUNS if run.name == chapter.run)
    assert chapter.at in ("", *(mark.name for mark in run.marks))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.module)
def test_each_chapter_ends_with_what_to_keep_and_where_to_read_on(chapter: Chapter) -> None:
    """Three sentences, and a page of the docs that has the heading."""
    assert len(import_module(f"handloop_learn.{chapter.module}").RECAP) == 3
    page, _, heading = chapter.read.partition("#")
    lines = (FOLDER.parents[1] / page).read_text(encoding="utf-8").splitlines()
    assert not heading or f"## {heading}" in lines
