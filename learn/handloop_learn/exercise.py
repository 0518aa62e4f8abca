"""An exercise: what the reader writes, and a check that runs it against the real parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

Load: TypeAlias = Callable[[], Any]
"""Runs the reader's file again, as a new process would. Returns: its module."""

Check: TypeAlias = Callable[[Load], Iterator[str]]
"""
Runs the reader's code, and yields a sentence for each thing that it did right.

Raises: WrongError; any error of the reader's code.
"""


class WrongError(Exception):
    """The reader's code did something wrong: what happened, and a hint."""

    def __init__(self, happened: str, hint: str) -> None:
        super().__init__(happened)
        self.hint = hint


class Exercise(NamedTuple):
    """task tells the reader what to do; start is the text of the starting file."""

    task: str
    start: str
    check: Check

    @property
    def file(self) -> str:
        """The name of the starting file: `exercise_06_workqueue.py` of ex06_workqueue."""
        return f"exercise_{self.check.__module__.rpartition('.ex')[2]}.py"


def expect(holds: object, happened: str, hint: str) -> None:
    """Raise WrongError unless something holds."""
    if not holds:
        raise WrongError(happened, hint)
