"""
Run the tests and plans that demonstrate a guarantee or a fault in docs/guarantees.md.

    python -m tools.shown G07 A08

In the page, `test_x` and `test_steps.py::test_x[case]` are tests below a folder of TESTS. `FOO_LIFE 4:409` is
a plan for a workload in tests/support/builders/workloads.py, and `explore FOO_LIFE` plays many plans for a
minute. The number of another row stands for that row's tests.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ("tests", "explore/tests", "learn/tests")
PAGE: Final = ROOT / "docs/guarantees.md"
_ROW: Final = re.compile(r"^\| ([A-Z]\d\d) \| (.*) \|$", re.MULTILINE)
_TEST: Final = re.compile(r"`((?:[\w/]+\.py::)?test_[^`]+)`")
_PLAN: Final = re.compile(r"`([A-Z]+_[A-Z]+) ([^`]+)`")
_OTHER: Final = re.compile(r"\b[A-Z]\d\d\b")
_EXPLORED: Final = re.compile(r"`explore (\w+)`")
_PASSED: Final = re.compile(r"(\d+ passed).* in ([\d.]+)s")
_WORKLOADS: Final = "support.builders.workloads"


class Row(NamedTuple):
    """A row of the page: its number, and its other cells."""

    number: str
    cells: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests' names: a function alone, or a file, function and case."""
        return tuple(_TEST.findall(" ".join(self.cells)))

    @property
    def plans(self) -> tuple[tuple[str, str], ...]:
        """The names of workloads, each with the line of a plan."""
        return tuple(_PLAN.findall(" ".join(self.cells)))

    @property
    def explored(self) -> tuple[str, ...]:
        """The names of workloads for which many plans are played."""
        return tuple(_EXPLORED.findall(" ".join(self.cells)))


@cache
def rows(letters: str = "GTPADS", page: Path = PAGE) -> tuple[Row, ...]:
    """Return the page's numbered rows. G marks guarantees; the other letters mark faults."""
    found = [
        Row(number, tuple(cells.split(" | "))) for number, cells in _ROW.findall(page.read_text("utf-8"))
    ]
    return tuple(row for row in found if row.number[0] in letters)


@cache
def functions() -> dict[str, list[tuple[str, str]]]:
    """Return the places of each test function: the folder of TESTS, and the file below it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for folder in TESTS:
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef):
                    place = folder, str(path.relative_to(ROOT / folder))
                    found.setdefault(node.name, []).append(place)
    return found


def nodes(row: Row) -> list[str]:
    """Return the row's tests by their pytest names. Raises: ValueError for a test that does not exist."""
    found = []
    others = [one for one in rows("G") if one.number in _OTHER.findall(row.cells[-1])]
    for test in (test for one in (row, *others) for test in one.tests):
        file, _, name = test.rpartition("::")
        there = [place for place in functions().get(name.partition("[")[0], []) if file in ("", place[1])]
        if not there:
            raise ValueError(f"{row.number}: there is no {test}")
        found += [f"{folder}/{each}::{name}" for folder, each in there]
    return found


def figures(row: Row) -> Iterator[str]:
    """
    Run everything that demonstrates a row, and yield each result in a few words.

    Raises: CalledProcessError if a run fails, with its output on the terminal.
    """
    if found := nodes(row):
        said = _said("-m", "pytest", "-q", "-m", "", "-p", "no:randomly", *dict.fromkeys(found))
        passed = _PASSED.search(said)
        yield f"{passed[1]} in {float(passed[2]):.1f} s" if passed else "none ran"
    for name, line in row.plans:
        yield _explored(name, "--replay", line)
    for name in row.explored:
        yield f"{name}: {_explored(name, '--budget', '1m')}"


def _explored(name: str, *options: str) -> str:
    return _said("-m", "handloop", "explore", f"{_WORKLOADS}:{name}", *options).splitlines()[0]


def _said(*arguments: str) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - ours
    if done.returncode:
        sys.stdout.write(done.stdout)
        done.check_returncode()
    return done.stdout


def main(arguments: Sequence[str]) -> None:
    """See the head of this file."""
    asked = {row.number: row for row in rows()}
    chosen = arguments or [row.number for row in rows("G")]
    if unknown := [number for number in chosen if number not in asked]:
        sys.exit(f"there is no row {', '.join(unknown)}; use, for example, make show ROW=G01, or ROW=A08")
    for number in chosen:
        figure = "; ".join(figures(asked[number]))
        print(f"{number}  {figure}", flush=True)  # noqa: T201 - what it is for


if __name__ == "__main__":
    main(sys.argv[1:])
