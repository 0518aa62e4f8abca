"""What code in this process prints and writes, for tests that wait for it."""

from __future__ import annotations

import io
import re
import threading
import time
from typing import Final, NamedTuple

import pytest


class Ended(NamedTuple):
    """How a command ended, and its output."""

    code: int
    out: str
    err: str


class Printed:
    """What was printed so far, line by line. State: _text, all that was read."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._text = ""

    def lines(self) -> list[str]:
        """All lines so far; the last one may be half."""
        self._text += self._capsys.readouterr().out
        return self._text.splitlines()


SECONDS: Final = 20.0


class WatchedText(io.StringIO):
    """State: the text, under _changed. is_terminal is the result of isatty()."""

    def __init__(self, *, is_terminal: bool = False) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        with self._changed:
            count = super().write(text)
            self._changed.notify_all()
            return count

    def text(self) -> str:
        """The text so far."""
        with self._changed:
            return self.getvalue()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until a pattern occurs. Raises: AssertionError at the deadline, with the text."""
        ends_at = time.monotonic() + SECONDS
        with self._changed:
            while (match := re.search(pattern, self.getvalue())) is None:
                left = ends_at - time.monotonic()
                assert left > 0, f"no {pattern!r} in:\n{self.getvalue()}"
                self._changed.wait(left)
        return match
