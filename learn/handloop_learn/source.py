"""Source lines of the running code, with their file and line number."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from handloop.picture.steps import Place


class Snippet(NamedTuple):
    """Some source lines. `place` is the file and the number of the first one."""

    file: str
    line: int
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        """`informers/delta_fifo.py:90`."""
        return str(Place(self.file, self.line))

    def line_with(self, fragment: str) -> int:
        """Return the number of the first line with a fragment. Raises: LookupError if no line has it."""
        for number, text in enumerate(self.lines, self.line):
            if fragment in text:
                return number
        raise LookupError(f"no line of {self.place} has {fragment!r}")


def whole(function: Callable[..., Any]) -> Snippet:
    """Return all lines of a function, unchanged. Raises: TypeError if the object has no source."""
    file = inspect.getsourcefile(function)
    assert file is not None
    lines, first = inspect.getsourcelines(function)
    return Snippet(file, first, tuple(line.rstrip("\n") for line in lines))


def cut(function: Callable[..., Any], begin: str, end: str = "") -> Snippet:
    """
    Return the lines of a function from the first with `begin` to the next with `end`, without their common
    indent.

    Args: if end is "", only the first line is returned. Raises: LookupError if the source has changed and has
    no such lines. Then the chapter must be changed, too.
    """
    source = whole(function)
    first = source.line_with(begin) - source.line
    rest = Snippet(source.file, source.line + first, source.lines[first:])
    count = 1 if not end else rest.line_with(end) - rest.line + 1
    kept = rest.lines[:count]
    indent = min(len(line) - len(line.lstrip()) for line in kept if line)
    return rest._replace(lines=tuple(line[indent:] for line in kept))
