"""docs/examples.md: its figures are counted here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from support.checks.docs_page import DOCS, code_lines

EXAMPLES: Final = DOCS.parent / "examples"
MODULES: Final = (("controller", "reconciler"), ("types",), ("__main__",))
"""The columns of the table, each with the names that such a file may have."""


def test_the_lines_of_the_examples() -> None:
    """Each folder has its row, and the row has the length of its files."""
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d*) ?\| (\d*) ?\| (\d*) ?\|", page, re.MULTILINE)
    told = {name: list(counts) for name, *counts in rows}
    folders = {path.parent for path in EXAMPLES.glob("*/__init__.py")}
    assert told == {folder.name: [lines_of(folder, names) for names in MODULES] for folder in folders}


def lines_of(folder: Path, names: tuple[str, ...]) -> str:
    """The lines of code of the one file that has one of the names, "" without one."""
    found = [folder / f"{name}.py" for name in names if (folder / f"{name}.py").exists()]
    return str(sum(map(code_lines, found))) if found else ""
