"""Processes that a test does not start itself, and wants to see end."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Final

SECONDS: Final = 20.0


class Holders:
    """
    The processes of a script in a folder: each holds a pipe open for as long as it lives.

    hold is what the script begins with.
    """

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "held")
        self._reader = os.open(folder / "held", os.O_RDONLY | os.O_NONBLOCK)
        self._has_begun = False
        self.hold = f"exec 3>{folder / 'held'}; printf x >&3"

    def close(self) -> None:
        """Give the pipe up."""
        os.close(self._reader)

    def wait_begun(self) -> None:
        """Wait until the script runs."""
        assert select.select([self._reader], [], [], SECONDS)[0], "the script does not begin"
        assert os.read(self._reader, 1) == b"x"
        self._has_begun = True

    def wait_gone(self) -> None:
        """Wait until all of them have ended."""
        if not self._has_begun:
            self.wait_begun()
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        assert poll.poll(1000 * SECONDS), "something of the script still runs"
        assert os.read(self._reader, 1) == b""
