"""Single keys of a terminal: read at once, without Return and without echo."""

from __future__ import annotations

import os
import re
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_MOST_BYTES: Final = 64
_KEY: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])|\x1b[\[O]?[0-9;]*$|.", re.DOTALL)
_NAMES: Final = {
    **dict.fromkeys(("[A", "OA"), "up"),
    **dict.fromkeys(("[B", "OB"), "down"),
    "[5~": "page up",
    "[6~": "page down",
    **dict.fromkeys(("[H", "OH", "[1~", "[7~"), "home"),
    **dict.fromkeys(("[F", "OF", "[4~", "[8~"), "end"),
}
"""What follows the escape character when the key is not a letter."""


def has_keys(terminal: int) -> bool:
    """Whether a file descriptor is a terminal, and this process is in its foreground."""
    try:
        return os.isatty(terminal) and os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        # a terminal that does not control this process, as under setsid
        return False


@contextmanager
def single_keys(terminal: int) -> Iterator[None]:
    """Make the terminal deliver each key at once while the context lasts. Ctrl-C stays a signal."""
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
    Yield keys until the terminal is closed: letters, and names such as `page up`.

    Other keys that begin with an escape are left out. Blocks: until the next key.
    """
    with suppress(OSError):
        while keys := os.read(terminal, _MOST_BYTES):
            for key in _KEY.findall(keys.decode(errors="replace")):
                if not key.startswith("\x1b"):
                    yield key
                elif name := _NAMES.get(key[1:]):
                    yield name
