"""What code in this process prints, for tests that wait for it."""

from __future__ import annotations

import pytest


class Printed:
    """What was printed so far, line by line. State: _text, all that was read."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._text = ""

    def lines(self) -> list[str]:
        """All lines so far; the last one may be half."""
        self._text += self._capsys.readouterr().out
        return self._text.splitlines()
