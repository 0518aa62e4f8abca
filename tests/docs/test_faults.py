"""docs/guarantees.md: every fault of the catalogue has a row, and what shows it is there."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from handloop_explore.plan import Plan
from support.builders import workloads
from tools.shown import ROOT, nodes, rows

ROWS: Final = rows("TPADS")
COUNTS: Final = {"T": 42, "P": 22, "A": 26, "D": 18, "S": 16}


def test_every_fault_has_its_row() -> None:
    """All 124, in order, each with what one sees and with a test or a plan that shows it."""
    assert [row.number for row in ROWS] == [
        f"{letter}{number:02}" for letter, count in COUNTS.items() for number in range(1, count + 1)
    ]
    assert [row.number for row in ROWS if len(row.cells) != 3 or not [*nodes(row), *row.plans]] == []


def test_every_test_that_a_fault_names_exists() -> None:
    """By file and name, and where only one of its cases shows it, by that."""
    named = {test for row in ROWS for test in nodes(row)}
    cases = {test for test in named if "[" in test}
    files = sorted({test.partition("::")[0] for test in cases})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:randomly", *files]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=300)
    assert cases - set(done.stdout.splitlines()) == set()


def test_every_plan_that_a_fault_names_is_one() -> None:
    """Of a workload that is there; tests/faults plays them."""
    plans = {plan for row in ROWS for plan in row.plans}
    assert plans
    for name, line in plans:
        assert hasattr(workloads, name)
        assert str(Plan.parse(line)) == line
