"""The rows of docs/faults.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

PAGE: Final = Path(__file__).parents[3] / "docs/faults.md"
_ROW: Final = re.compile(r"^\| ([A-Z]\d\d) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_TEST: Final = re.compile(r"`([\w/]+\.py::test_[^`]+)`")
_PLAN: Final = re.compile(r"`([A-Z_]+) ([\d\w][^`]*)`")


class Row(NamedTuple):
    """A fault: what happens, what a user sees, and the tests and plans that show it."""

    number: str
    fault: str
    seen: str
    tests: tuple[str, ...]
    plans: tuple[tuple[str, str], ...]


def rows() -> list[Row]:
    """All of them. tests are below tests/, as pytest names them; a plan is a workload's name and a line."""
    found = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return [
        Row(number, fault, seen, tuple(_TEST.findall(shown)), tuple(_PLAN.findall(shown)))
        for number, fault, seen, shown in found
    ]
