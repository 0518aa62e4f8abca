"""The museum: every seeded bug still fits, is described, and is shown by its line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from itertools import filterfalse
from pathlib import Path
from typing import Final

import pytest

from museum.exhibits import EXPLORES, FOLDER, ROOT, SURVIVES, Exhibit, all_exhibits, is_shown, plant
from museum.workloads import WORKLOADS

EXHIBITS: Final = all_exhibits()
SHOWN: Final = [each for each in EXHIBITS if not each.line.startswith(SURVIVES)]
_ROW: Final = re.compile(r"^\| `([\w-]+)` \|.*\| (?:`(.+)`|none: .+) \|$", re.MULTILINE)
_HEADING: Final = re.compile(r"^## .*\(`([\w-]+)`\)$", re.MULTILINE)


def test_every_patch_applies() -> None:
    """To today's source; one that does not is made anew, or goes."""
    # one by one: given all of them, git stops at the first
    refused = [each.name for each in EXHIBITS if not _applies(each)]
    assert not refused


def _applies(exhibit: Exhibit) -> bool:
    check = ["git", "apply", "--check", str(exhibit.patch)]
    return subprocess.run(check, cwd=ROOT, capture_output=True, check=False).returncode == 0


def test_the_readme_has_a_row_for_each_exhibit_and_no_other() -> None:
    """In the table of its room, with the line that shows it."""
    rooms = _HEADING.split((FOLDER / "README.md").read_text(encoding="utf-8"))[1:]
    rows = {
        f"{room}/{name}": line
        for room, text in zip(rooms[::2], rooms[1::2], strict=True)
        for name, line in _ROW.findall(text)
    }
    assert rows == {each.name: "" if each.line.startswith(SURVIVES) else each.line for each in EXHIBITS}


def test_exhibits_are_unlike_each_other() -> None:
    """In name, and in what they change."""
    names = [each.patch.stem for each in EXHIBITS]
    changes = [each.patch.read_text(encoding="utf-8").partition("\n--- ")[2] for each in EXHIBITS]
    assert len(EXHIBITS) == len(set(names)) == len(set(changes)) >= 60


def test_nearly_all_are_shown() -> None:
    """98 of 100; and no workload is there that no exploration needs."""
    explored = [each.line.split()[1] for each in SHOWN if each.line.startswith(EXPLORES)]
    assert len(SHOWN) >= 0.98 * len(EXHIBITS)
    assert set(explored) == WORKLOADS.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("exhibit", SHOWN, ids=[each.name for each in SHOWN])
def test_its_line_shows_the_bug(exhibit: Exhibit, tmp_path: Path) -> None:
    """In a tree where the bug is alive."""
    plant(exhibit, tmp_path / "tree")
    shown, output = is_shown([exhibit.line], tmp_path / "tree")
    assert shown, output


@pytest.mark.nightly
@pytest.mark.parametrize("choose", [filter, filterfalse], ids=["explorations", "tests"])
def test_no_line_fails_without_its_bug(choose: Callable[..., list[str]]) -> None:
    """In the tree as it is."""
    lines = dict.fromkeys(each.line for each in SHOWN)
    shown, output = is_shown([*choose(lambda line: line.startswith(EXPLORES), lines)], ROOT)
    assert not shown, output
