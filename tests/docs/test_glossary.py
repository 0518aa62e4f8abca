"""docs/glossary.md: every class has a line, and every line a class."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[`(\w+)`\]\(\.\./([\w/.]+)\) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
LISTED = [(path, name) for name, path, _, _ in ROWS]
UPSTREAM = re.compile(r"(?:ours|[`*][\w.]+[`*].*, .*`[\w./-]+\.go`)")
USED_BY_FOO = ("handloop ", "handloop.client.", "handloop.controller.runtime.")


def classes_of(path: str) -> set[str]:
    """The public classes of a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def public_classes(folder: str) -> set[tuple[str, str]]:
    """(path, class) of a folder."""
    paths = [str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.py")]
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
    """The class stands in the file that the line links to, and has one line."""
    assert [(path, name) for path, name in LISTED if name not in classes_of(path)] == []
    assert len(LISTED) == len(set(LISTED)) > 100


def test_every_row_names_its_place_upstream() -> None:
    """A type or function and its file, or that it is ours."""
    assert PAGE.count("\n| [`") == len(ROWS)
    assert [row for row in ROWS if not UPSTREAM.fullmatch(row[2])] == []
