"""
Text of others, such as a lease's holder or a server's message, as it may be shown.

A terminal obeys control characters, and a reader of logs takes what looks like the end of a line for one.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """
    The text, with escapes as JSON has them for everything that is no visible character and no space.

    Letters and signs of all languages stay. JSON stays JSON.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _escape(char: str) -> str:
    # half a surrogate pair is no text, and is shown like the rest
    code = char.encode("utf-16-be", "surrogatepass").hex()
    return _SHORT.get(char) or "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))
