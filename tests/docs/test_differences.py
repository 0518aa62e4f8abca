"""docs/differences.md and docs/guarantees.md: what they claim is held by tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIFFERENCES = (ROOT / "docs/differences.md").read_text(encoding="utf-8")
GUARANTEES = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8")
PAGES = pytest.mark.parametrize("page", [DIFFERENCES, GUARANTEES], ids=["differences", "guarantees"])


@PAGES
def test_each_test_that_it_names_exists(page: str) -> None:
    """Whoever doubts a row finds what holds it."""
    there = {
        node.name
        for folder in ("tests", "explore/tests", "learn/tests")
        for path in (ROOT / folder).rglob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    named = set(re.findall(r"`(test_\w+)`", page))
    assert named
    assert named - there == set()


SHOWN = re.compile(r"`(?:[\w/]+\.py::)?test_|\| .*\bG\d\d\b.* \|$|`[A-Z]+_[A-Z]+ ")
"""A test, the number of a guarantee, or a plan."""


@PAGES
def test_every_row_names_a_test(page: str) -> None:
    """Each has as many cells as its head, and each claim in it is held by a test."""
    tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert tables
    for head, _, *rows in map(str.splitlines, tables):
        assert head.endswith(("| tests |", "| shown by |"))
        assert rows
        assert [row for row in rows if row.count("|") != head.count("|") or not SHOWN.search(row)] == []
