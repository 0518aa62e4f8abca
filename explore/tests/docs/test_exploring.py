"""explore/docs/exploring.md: its examples run, and show what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from support.checks.docs_page import DOCS, assert_tests_pass, blocks_of, run_tests

PAGE: Final = "../explore/docs/exploring.md"


def test_exploring_finds_the_mistake_of_its_page(tmp_path: Path) -> None:
    """With the plans and stories that the page prints; mended as it says it is the tutorial's, and passes."""
    for name, text in blocks_of(PAGE).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    printed = page.partition("```text\n")[2].partition("```")[0]
    done = run_tests(tmp_path, "test_careless.py")
    shown = re.sub(r"^E +", "", done.stdout, flags=re.MULTILINE)
    lines = [line.strip() for line in printed.split("\n") if line.strip() != "..."]
    assert [line for line in lines if line not in shown] == []
    careless, tutorial = tmp_path / "careless.py", blocks_of("your-first-controller.md")["greeter.py"]
    before, after = _sides((tmp_path / "careless.diff").read_text(encoding="utf-8"))
    text = careless.read_text(encoding="utf-8")
    assert (text.count(before), tutorial.count(after)) == (1, 1)
    careless.write_text(text.replace(before, after), encoding="utf-8")
    assert_tests_pass(tmp_path, 2)


def _sides(diff: str) -> tuple[str, str]:
    """What a diff takes, and what it gives."""
    sides = ("- ", "+ ")
    taken, given = ([line[1:] for line in diff.splitlines() if line[:1] in side] for side in sides)
    return "\n".join(taken), "\n".join(given)
