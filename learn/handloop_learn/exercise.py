"""An exercise: a file that the reader completes, and a check that runs it against the real parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

Load: TypeAlias = Callable[[], Any]
"""Runs the reader's file again, as a new process would. Returns: its module."""

Check: TypeAlias = Callable[[Load], Iterator[str]]
"""
Runs the reader's code, and yields a sentence for each thing that it did right.

Raises: WrongError if it did something wrong; any error that the code raises.
"""


class WrongError(Exception):
    """The reader's code did something wrong. The message says what happened, and hint says what to do."""

    def __init__(self, happened: str, hint: str) -> None:
        super().__init__(happened)
        self.hint = hint


class Exercise(NamedTuple):
    """An exercise. task tells the reader what to do; start is the text of the starting file."""

    task: str
    start: str
    check: Check

    @property
    def file(self) -> str:
        """The name of the starting file, such as `exercise_06_workqueue.py` for ex06_workqueue."""
        return f"exercise_{self.check.__module__.rpartition('.ex')[2]}.py"


def expect(holds: object, happened: str, hint: str) -> None:
    """Raise WrongError unless holds is true."""
    if not holds:
        raise WrongError(happened, hint)
