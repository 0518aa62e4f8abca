"""docs/guarantees.md: each guarantee is numbered, and what shows it is there; `make show` runs it."""

from __future__ import annotations

from support.builders import workloads
from tools.shown import nodes, rows


def test_each_guarantee_names_what_shows_it() -> None:
    """Tests, and workloads that are explored."""
    found = rows("G")
    assert [row.number for row in found] == [f"G{number:02}" for number in range(1, len(found) + 1)]
    for row in found:
        assert nodes(row)
        assert all(hasattr(workloads, name) for name in row.explored)


def test_a_fault_may_lean_on_a_guarantee() -> None:
    """The number of its row stands for its tests: none is named twice."""
    guarantees = {row.number: set(nodes(row)) for row in rows("G")}
    (fault,) = (row for row in rows("T") if row.number == "T04")
    assert guarantees["G17"] <= set(nodes(fault))
    named = {test.rpartition("::")[2] for row in rows("G") for test in row.tests}
    assert not named & {test.rpartition("::")[2] for row in rows("TPADS") for test in row.tests}
