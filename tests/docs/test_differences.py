"""docs/differences.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/differences.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`(test_\w+)`", PAGE))
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith("|---")]


def test_each_test_that_it_names_exists() -> None:
    """Whoever doubts a row finds what holds it."""
    there = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert NAMED
    assert NAMED - there == set()


def test_every_row_names_a_test() -> None:
    """Each has four cells, and what is claimed in it is held by something."""
    assert ROWS
    assert [row for row in ROWS if row.count("|") != 5] == []
    assert [row for row in ROWS if not row.endswith("| tests |") and "`test_" not in row] == []


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", PAGE))
def test_its_links_lead_somewhere(target: str) -> None:
    """To a file beside the page, or to a heading of it."""
    if target.startswith("#"):
        assert f"\n## {target[1:].replace('-', ' ').capitalize()}\n" in PAGE
    else:
        assert (ROOT / "docs" / target).exists()
