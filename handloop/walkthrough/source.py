"""Source lines of the running code, with the file and line where they stand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

PACKAGE: Final = Path(__file__).parent.parent
_STEP: Final = re.compile(r"^(?P<code>.*?)# \((?P<number>\d+)\) (?P<words>.+)$")
_FOLDERS_OF_THE_STACK: Final = ("apis", "client", "workqueue", "informers", "controller")


class Place(NamedTuple):
    """A line of a file, as tracebacks and trace functions name it."""

    file: str
    line: int

    def __str__(self) -> str:
        path = Path(self.file).relative_to(PACKAGE)
        # the folders of the stack stand in the root, and handloop links to them
        return f"{path if path.parts[0] in _FOLDERS_OF_THE_STACK else PACKAGE.name / path}:{self.line}"


class Snippet(NamedTuple):
    """Some lines; `place` is where the first one stands."""

    file: str
    line: int
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        """`informers/delta_fifo.py:90`."""
        return str(Place(self.file, self.line))

    def line_with(self, fragment: str) -> int:
        """The number of the first line with a fragment. Raises: LookupError."""
        for number, text in enumerate(self.lines, self.line):
            if fragment in text:
                return number
        raise LookupError(f"no line of {self.place} has {fragment!r}")


class Step(NamedTuple):
    """A numbered step of README's picture: its comment, such as `# (3) pop`, and the line that does it."""

    number: int
    words: str
    comment: Place
    place: Place


def whole(function: Callable[..., Any]) -> Snippet:
    """All lines of a function, as they stand. Raises: TypeError for an object without source."""
    file = inspect.getsourcefile(function)
    assert file is not None
    lines, first = inspect.getsourcelines(function)
    return Snippet(file, first, tuple(line.rstrip("\n") for line in lines))


def cut(function: Callable[..., Any], begin: str, end: str = "") -> Snippet:
    """
    The lines of a function from the first with begin to the next with end, without their common indent.

    Args: end "" = one line. Raises: LookupError: the source has changed, and the chapter has to.
    """
    source = whole(function)
    first = source.line_with(begin) - source.line
    rest = Snippet(source.file, source.line + first, source.lines[first:])
    count = 1 if not end else rest.line_with(end) - rest.line + 1
    kept = rest.lines[:count]
    indent = min(len(line) - len(line.lstrip()) for line in kept if line)
    return rest._replace(lines=tuple(line[indent:] for line in kept))


def steps() -> list[Step]:
    """The numbered steps, in order: each is done by the line of its comment, or by the one after it."""
    found = []
    for folder in _FOLDERS_OF_THE_STACK:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if match := _STEP.match(text):
                    comment = Place(str(path), line)
                    place = comment if match["code"].strip() else Place(str(path), line + 1)
                    found.append(Step(int(match["number"]), match["words"], comment, place))
    return sorted(found)
