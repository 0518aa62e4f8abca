"""
Finds the source lines of the twelve steps in ARCHITECTURE.md's picture.

    python -m tools.steps

writes the line numbers into ARCHITECTURE.md's table. In the source, a comment such as `# (3) pop` marks a
step, on the line where it happens.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from handloop.picture import steps as source

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "ARCHITECTURE.md"
COUNT: Final = 12
_ROW: Final = re.compile(r"^\| \((\d+)\) [^|]*\| [^|]*\|", re.MULTILINE)


class Step(NamedTuple):
    """One step, and the file and line of its comment."""

    number: int
    words: str
    path: str
    line: int

    def row(self) -> str:
        """Return the beginning of the step's row in the table."""
        return f"| ({self.number}) {self.words} | [`{self.path}`]({self.path}#L{self.line}) |"


def steps() -> list[Step]:
    """Return every step that is marked in the source, by number."""
    return [
        Step(number, words, str(Path(comment.file).relative_to(source.PACKAGE)), comment.line)
        for number, words, comment, _ in source.steps()
    ]


def with_lines(page: str) -> str:
    """Return the page with each row of the table updated from the source. Text after a link is kept."""
    rows = {step.number: step.row() for step in steps()}
    return _ROW.sub(lambda match: rows.get(int(match[1]), match[0]), page)


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_lines(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
