"""Single keys of a terminal: read at once, without Return and without echo."""

from __future__ import annotations

import os
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_ESCAPE: Final = b"\x1b"
_MOST_BYTES: Final = 64


def has_keys(terminal: int) -> bool:
    """Whether a file descriptor is a terminal, and this process in its foreground."""
    try:
        return os.isatty(terminal) and os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        # a terminal that does not control this process, as under setsid
        return False


@contextmanager
def single_keys(terminal: int) -> Iterator[None]:
    """Within, the terminal hands over each key at once; Ctrl-C stays a signal. Afterwards it is as before."""
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield
    finally:
        # a terminal that was closed has no settings
        with suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def typed(terminal: int) -> Iterator[str]:
    """
    The keys, until the terminal is closed. Arrows and their like, which begin with an escape, are left out.

    Blocks: until the next key.
    """
    with suppress(OSError):
        while keys := os.read(terminal, _MOST_BYTES):
            if not keys.startswith(_ESCAPE):
                yield from keys.decode(errors="replace")
