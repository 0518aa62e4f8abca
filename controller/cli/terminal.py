"""
Writes lines for people, and makes text from other programs safe to show.

Terminals obey control characters, and log readers split lines at every character that can end a line.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO


def printable(text: str) -> str:
    """
    Return the text with JSON escapes in place of characters that are neither visible nor spaces.

    Letters and signs of all languages stay unchanged. JSON stays valid JSON.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


_IN_ASCII = {"✓": "+", "✗": "x"}
_STDERR = 2
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _escape(char: str) -> str:
    # This escapes lone surrogates, too.
    code = char.encode("utf-16-be", "surrogatepass").hex()
    return _SHORT.get(char) or "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))


def writable(text: str, stream: TextIO) -> str:
    """Return the text, or its ASCII form if the stream cannot encode a character. JSON stays valid JSON."""
    try:
        text.encode(stream.encoding or "utf-8", stream.errors or "strict")
    except UnicodeEncodeError:
        return "".join(char if char.isascii() else _IN_ASCII.get(char) or _escape(char) for char in text)
    return text


def show(text: str, stream: TextIO) -> None:
    """Write lines for people. Lines that cannot be written are dropped, as with log lines."""
    with suppress(OSError, ValueError):
        stream.write(writable(text, stream))
        stream.flush()


def open_closed() -> None:
    """Open /dev/null for each standard stream that this process was started without."""
    # Otherwise the next file or connection would get the stream's descriptor, and receive the stream's text.
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(number)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def drop_unwritten(stream: TextIO) -> None:
    """Drop buffered text that cannot be written; else the interpreter would retry at exit and return 120."""
    try:
        stream.flush()
    except ValueError:
        # already closed: nothing is left
        return
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
