"""docs/faults.md: every fault of the catalogue has a row, and what shows it is there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from handloop.testing.explore.plan import Plan
from support.builders import workloads
from support.checks.fault_table import PAGE, rows

TESTS: Final = Path(__file__).parents[1]
COUNTS: Final = {"T": 42, "P": 22, "A": 26, "D": 18, "S": 16}


def test_every_fault_has_its_row() -> None:
    """All 124, in order, each with what one sees and with a test or a plan that shows it."""
    found = rows()
    assert [row.number for row in found] == [
        f"{letter}{number:02}" for letter, count in COUNTS.items() for number in range(1, count + 1)
    ]
    assert [row.number for row in found if not row.tests + row.plans or len(row.seen) < 7] == []


def test_every_test_that_a_fault_names_exists() -> None:
    """By file and name, and where only one of its cases shows it, by that."""
    named = {test for row in rows() for test in row.tests}
    functions = {test.partition("[")[0] for test in named}
    there = {
        f"{file}::{node.name}"
        for file in {name.partition("::")[0] for name in functions}
        for node in ast.parse((TESTS / file).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert functions - there == set()
    cases = {test for test in named if "[" in test}
    files = sorted({str(TESTS / test.partition("::")[0]) for test in cases})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:randomly", *files]
    done = subprocess.run(command, cwd=TESTS.parent, check=True, capture_output=True, text=True, timeout=300)
    assert {f"tests/{case}" for case in cases} - set(done.stdout.splitlines()) == set()


def test_every_plan_that_a_fault_names_is_one() -> None:
    """Of a workload that is there; tests/faults plays them."""
    text = PAGE.read_text(encoding="utf-8")
    plans = {plan for row in rows() for plan in row.plans}
    assert plans
    for name, line in plans:
        assert hasattr(workloads, name)
        assert str(Plan.parse(line)) == line
    assert set(re.findall(r"`([A-Z]+_[A-Z]+ [^`]*)`", text)) == {" ".join(plan) for plan in plans}
