"""The results of a benchmark: tables for people, and as JSON for the page that `make bench` writes."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, float | str | None]
"""Figures or words by column. A column's name contains the unit: `sync us`. None means not measured."""


@dataclass(frozen=True, slots=True)
class Table:
    """
    One table, with a row for each subject.

    Args: title is the heading. setting says in a line or two how much was measured, and what the columns are.
    """

    title: str
    setting: str
    rows: Mapping[str, Row]

    def columns(self) -> list[str]:
        """Return the columns of all rows, in the order of their first occurrence."""
        return list(dict.fromkeys(column for row in self.rows.values() for column in row))

    def cells(self) -> list[list[str]]:
        """Return the table's head, and a line for each row."""
        columns = self.columns()
        rows = [[name, *(shown(row.get(column)) for column in columns)] for name, row in self.rows.items()]
        return [["", *columns], *rows]

    def text(self) -> str:
        """For a terminal."""
        cells = self.cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            f"{name:{widths[0]}}"
            + "".join(f"{cell:>{width + 3}}" for cell, width in zip(line, widths[1:], strict=True))
            for name, *line in cells
        ]
        return "\n".join([self.title, self.setting, "", *lines, ""])


def shown(value: float | str | None) -> str:
    """Format words, or a figure with at least three digits."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def medians(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each column."""
    return {column: statistics.median(row[column] for row in rounds) for column in rounds[0]}


def parse(parser: argparse.ArgumentParser, **smoke: Any) -> argparse.Namespace:
    """
    Parse the options, including the two flags of every benchmark.

    Args: smoke are the options' defaults with --smoke: sizes that show within seconds that the script works.
    """
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the tables there, too")
    parser.add_argument(
        "--smoke",
        action="store_true",
        help=("tiny sizes, only to test that the script works; the figures mean nothing"),
    )
    options = parser.parse_args()
    if options.smoke:
        parser.set_defaults(**smoke)
        options = parser.parse_args()
    return options


def emit(tables: Sequence[Table], path: Path | None) -> None:
    """Print the tables, and write them to path."""
    print(*(table.text() for table in tables), sep="\n", flush=True)
    write(tables, path)


def write(tables: Sequence[Table], path: Path | None) -> None:
    """Write the tables to path, None = nowhere."""
    if path is not None:
        path.write_text(json.dumps([asdict(table) for table in tables], indent=1), encoding="utf-8")
