"""docs/kopf-side-by-side.md: the checks of its table that need no new measurement."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any, Final

from support.checks.docs_page import DOCS

BENCHMARKS: Final = Path(__file__).parents[2] / "benchmarks"
PAGE: Final = (DOCS / "kopf-side-by-side.md").read_text(encoding="utf-8")
ROWS: Final = dict(re.findall(r"^\| (.+?) \| (.+) \|$", PAGE, re.MULTILINE))


def script() -> dict[str, Any]:
    """The names of the script that measures."""
    return runpy.run_path(str(BENCHMARKS / "memcached_side_by_side.py"))


def test_the_lines_are_those_of_the_programs() -> None:
    """Whoever changes a program counts again."""
    names = script()
    counted = [str(sum(map(names["lines"], names["FILES"][operator]))) for operator in names["OPERATORS"]]
    assert ROWS["lines of the program"] == " | ".join(counted)
    assert ROWS["lines of the types"] == " | ".join(names["TYPES"].values())


def test_the_version_of_kopf_is_the_locked_one() -> None:
    """The measured versions are those that `make bench` installs."""
    lock = (BENCHMARKS / "requirements.lock").read_text(encoding="utf-8")
    (locked,) = re.findall(r"^kopf==(\S+)", lock, re.MULTILINE)
    assert set(re.findall(r"kopf (\d[\d.]*\d)", PAGE)) == {locked}


def test_comments_imports_and_docstrings_are_no_lines(tmp_path: Path) -> None:
    """A decorator is one, and so is each line of a statement."""
    path = tmp_path / "a.py"
    text = '"""Words."""\n\nfrom a import (\n    b,\n)\n\n# more\n@b\ndef c() -> None:\n    """Words."""\n'
    text += "    b(\n    )\n"
    path.write_text(text, encoding="utf-8")
    assert script()["lines"](path) == 4
