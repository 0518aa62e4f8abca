"""docs/glossary.md has some thirty words with their scenes; docs/classes.md a line for each class."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.recorded_runs.shelf import read

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
CLASSES = (ROOT / "docs/classes.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[`(\w+)`\]\(\.\./([\w/.]+)\) \| (.+) \|$", CLASSES, re.MULTILINE)
OURS = re.findall(r"\[`(\w+)`\]\(\.\./([\w/.]+)\)[,.]", CLASSES)
"""The classes without a counterpart upstream, below each table."""
LISTED = [(path, name) for name, path, *_ in [*ROWS, *OURS]]
WORDS = re.findall(r"^\| ([^`|]+) \| ([^|]+) \| (.+) \|$", PAGE, re.MULTILINE)[1:]
UPSTREAM = re.compile(r"[`*][\w.]+[`*].*, .*`[\w./-]+\.go`")
USED_BY_FOO = ("handloop ", "handloop.client.", "handloop.controller.runtime.")


def test_the_words_come_first_and_are_few() -> None:
    """One line each: what a reader learns before the index of classes."""
    assert 25 <= len(WORDS) <= 30
    assert [word for word, meaning, _ in WORDS if len(meaning) > 160] == []


def test_each_word_has_its_scene() -> None:
    """Its last cell is a link: to a mark of a recording, or to a heading of these pages."""
    links = [re.fullmatch(r"\[[^]]+\]\(([^)#]+)(?:#([^)]+))?\)", scene) for _, _, scene in WORDS]
    assert [row for row, link in zip(WORDS, links, strict=True) if link is None] == []
    assert [link[0] for link in links if link and not leads_somewhere(*link.groups())] == []


def leads_somewhere(page: str, heading: str | None) -> bool:
    """Whether the page is there, and has the mark or the heading if one is named."""
    if page == "../learn/docs/live-page/":
        run, _, mark = (heading or "").removeprefix("run=").partition("&at=")
        return mark in read(run)["marks"]
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return heading is None or heading in {
        re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles
    }


def classes_of(path: str) -> set[str]:
    """The public classes of a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def public_classes(folder: str) -> set[tuple[str, str]]:
    """(path, class) of a folder."""
    paths = [str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py")]
    return {(path, name) for path in paths for name in classes_of(path)}


def imported_by_foo() -> Iterator[str]:
    """The names that the Foo controller imports from the face, the client and the runtime."""
    for path in (ROOT / "controller/foo").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and f"{node.module} ".startswith(USED_BY_FOO):
                yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("folder", ["informers", "workqueue", "controller/foo"])
def test_every_public_class_has_a_line(folder: str) -> None:
    """Whoever reads the folder beside the Go source finds each class."""
    assert public_classes(folder) - set(LISTED) == set()


def test_what_foo_uses_has_a_line() -> None:
    """The classes of client and runtime that its modules import."""
    classes = {
        name
        for folder in ("client", "controller/runtime")
        for path in (ROOT / folder).rglob("*.py")
        for name in classes_of(str(path.relative_to(ROOT)))
    }
    used = classes & set(imported_by_foo())
    assert {"Client", "OwnerRecheck"} <= used
    assert used - {name for _, name in LISTED} == set()


def test_every_line_has_its_class() -> None:
    """The class stands in the file that its link leads to, and has one place."""
    assert [(path, name) for path, name in LISTED if name not in classes_of(path)] == []
    assert len(LISTED) == len(set(LISTED)) > 100


def test_every_row_names_its_place_upstream() -> None:
    """A type or function, and its file."""
    assert CLASSES.count("\n| [`") == len(ROWS)
    assert [row for row in ROWS if not UPSTREAM.fullmatch(row[2])] == []
