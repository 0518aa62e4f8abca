"""Records which lines of an operator's code run while it sets up and reconciles."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A line of a file."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.number}"


class Branches:
    """
    The lines of the given code that a run reaches in the traced threads.

    State: lines. Threads: runs on the threads that VirtualThreads runs; a traced thread stops tracing while
    it waits.
    """

    def __init__(self, codes: Iterable[CodeType], known: Collection[Line] = ()) -> None:
        """Args: known: lines that need not be recorded."""
        self.lines: set[Line] = set()
        self._codes = {
            code for code in codes if not known or any(one not in known for one in lines_of([code]))
        }
        self._is_free = sys.gettrace() is None and bool(self._codes)  # otherwise a debugger is tracing

    def trace(self, *, begins: bool) -> None:
        """Start or stop recording the lines that the current real thread runs."""
        if self._is_free:
            sys.settrace(self._called if begins else None)

    def _called(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self._line if frame.f_code in self._codes else None

    def _line(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        self.lines.add(Line(frame.f_code.co_filename, frame.f_lineno))
        return self._line


def lines_of(codes: Iterable[CodeType]) -> list[Line]:
    """Return the lines of code objects in order, without the lines that define the functions."""
    found = {(code, number) for code in codes for *_, number in code.co_lines()}
    return sorted({Line(code.co_filename, at) for code, at in found if at and at != code.co_firstlineno})


def first_of_each(lines: Collection[Line], of: Collection[Line]) -> list[Line]:
    """Return the first line of each block of adjacent `lines`. Args: of: all lines of the code, in order."""
    return [line for before, line in pairwise([Line("", 0), *of]) if line in lines and before not in lines]
