"""Source lines of the running code, with their file and line number."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from handloop.picture.steps import Place


class Snippet(NamedTuple):
    """Some lines; `place` is where the first one is."""

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


def whole(function: Callable[..., Any]) -> Snippet:
    """All lines of a function, as they stand. Raises: TypeError for an object without source."""
    file = inspect.getsourcefile(function)
    assert file is not None
    lines, first = inspect.getsourcelines(function)
    return Snippet(file, first, tuple(line.rstrip("\n") for line in lines))


def cut(function: Callable[..., Any], begin: str, end: str = "") -> Snippet:
    """
    The lines of a function from the first with `begin` to the next with `end`, without their common indent.

    Args: end: "" = one line. Raises: LookupError if the source has changed, so the chapter has to, too.
    """
    source = whole(function)
    first = source.line_with(begin) - source.line
    rest = Snippet(source.file, source.line + first, source.lines[first:])
    count = 1 if not end else rest.line_with(end) - rest.line + 1
    kept = rest.lines[:count]
    indent = min(len(line) - len(line.lstrip()) for line in kept if line)
    return rest._replace(lines=tuple(line[indent:] for line in kept))
