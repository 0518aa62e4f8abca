"""Reads single keys from a terminal, without waiting for Return and without echo."""

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
"""The name of each key that is not a character, by the text that follows its escape character."""


def has_keys(terminal: int) -> bool:
    """Return whether a file descriptor is a terminal with this process in its foreground."""
    try:
        return os.isatty(terminal) and os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        # The terminal does not control this process, for example under setsid.
        return False


@contextmanager
def single_keys(terminal: int) -> Iterator[None]:
    """Return a context in which the terminal delivers each key at once. Ctrl-C still sends a signal."""
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield
    finally:
        # If the terminal was closed, its settings cannot be restored.
        with suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def typed(terminal: int) -> Iterator[str]:
    """
    Yield keys until the terminal is closed, as characters or names such as `page up`.

    Other keys that begin with an escape character are ignored. Blocks: until the next key.
    """
    with suppress(OSError):
        while keys := os.read(terminal, _MOST_BYTES):
            for key in _KEY.findall(keys.decode(errors="replace")):
                if not key.startswith("\x1b"):
                    yield key
                elif name := _NAMES.get(key[1:]):
                    yield name
