"""README.md, the first screen: short, and three doors. Its commands run in test_commands.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
TEXT: Final = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_fits_on_three_screens() -> None:
    """The rest stands where it is looked for."""
    assert len(TEXT.splitlines()) <= 120
    doors = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)[:3]
    assert [door.split()[0] for door in doors] == ["Learn", "Build", "Run"]


def test_each_door_has_its_figure_with_its_source() -> None:
    """The figures are those of the pages that they name."""
    performance = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    lines = [re.split(r" *\| *", line.strip("| ")) for line in performance.splitlines()]
    rows = {cells[0]: cells[1:] for cells in reversed(lines)}
    for name, told in (("handloop", ("10.4", "2.1 kB")), ("client-go", ("90.3", "9.4 kB"))):
        cpu, _, kept, *_ = rows[name]
        assert (cpu, f"{float(kept.replace(',', '')) / 1000:.1f} kB") == told
        assert set(told) <= {word for word in (cpu, told[1]) if word in TEXT}
    assert float(rows["first start"][0]) == pytest.approx(15, abs=0.5)
    assert float(rows["a test's fixture, start and stop"][0]) == pytest.approx(5, abs=0.5)
    page = ROOT / "learn/docs/live-page/index.html"
    assert f"{round(page.stat().st_size / 1000, -1):.0f} kB" in TEXT
