"""docs/guarantees.md: each row has the command that shows it, and what came of it."""

from __future__ import annotations

import re

from support.builders import workloads
from tools.shown import GUARANTEES, nodes, rows


def test_each_guarantee_has_its_command_and_a_figure() -> None:
    """The command names its own row; all that it runs is there, and passed."""
    found = rows(GUARANTEES)
    assert [row.number for row in found] == [f"G{number:02}" for number in range(1, len(found) + 1)]
    assert len(found) == GUARANTEES.read_text(encoding="utf-8").count("make show ROW=")
    for row in found:
        assert nodes(row)
        assert all(hasattr(workloads, name) for name in row.explored)
        assert re.match(rf"`make show ROW={row.number}` [1-9]\d* passed in \d+\.\d s", row.cells[-1]), (
            row.cells
        )
        for name in row.explored:
            assert re.search(rf"{name}: [1-9]\d* plans, .* 0 failed", row.cells[-1]), row.cells
