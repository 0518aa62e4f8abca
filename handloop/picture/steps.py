"""The twelve steps of ARCHITECTURE's picture, and their places in the running source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

PACKAGE: Final = Path(__file__).parent.parent
_STEP: Final = re.compile(r"^(?P<code>.*?)# \((?P<number>\d+)\) (?P<words>.+)$")
_FOLDERS_OF_THE_STACK: Final = ("apis", "client", "workqueue", "informers", "controller")


class Place(NamedTuple):
    """A line of a file. The file is named as in tracebacks and trace functions."""

    file: str
    line: int

    def __str__(self) -> str:
        path, root = Path(self.file), PACKAGE.parent
        if path.is_relative_to(root):
            path = path.relative_to(root)
            # In the repository, these folders are at the root, and the folder handloop contains links to
            # them.
            if path.parts[0] == PACKAGE.name and path.parts[1] in _FOLDERS_OF_THE_STACK:
                path = path.relative_to(PACKAGE.name)
        return f"{path}:{self.line}"


class Step(NamedTuple):
    """A numbered step of the picture, with its comment, such as `# (3) pop`, and the line that runs it."""

    number: int
    words: str
    comment: Place
    place: Place


def steps() -> list[Step]:
    """
    Return the numbered steps in order.

    A step is executed by the line with its comment, or by the next line.
    """
    found = []
    for folder in _FOLDERS_OF_THE_STACK:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if match := _STEP.match(text):
                    comment = Place(str(path), line)
                    place = comment if match["code"].strip() else Place(str(path), line + 1)
                    found.append(Step(int(match["number"]), match["words"], comment, place))
    return sorted(found)
