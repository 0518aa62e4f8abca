r"""
Regular expressions as Go has them, by Python's.

What Go refuses is refused in its words; its own notations (`\z`, `[[:alpha:]]`, `(?<name>x)`, `\pL`) are
translated, and `\d`, `\w`, `\s` mean ASCII. Follows: RE2 syntax, regexp/syntax (parse.go).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_ANYTHING: Final = re.compile("")
_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_LOOKS: Final = re.compile(r"(?<!\\)\(\?(?:=|!|<=|<!)")
_REFERENCE: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\[1-9])")
_UNICODE: Final = re.compile(r"\\[pP](?:[A-Z]|\{\^?\w+\})")


@lru_cache(maxsize=1024)
def compiled(text: str) -> re.Pattern[str]:
    """The pattern; one that cannot be translated matches everything."""
    try:
        return _compiled(text)
    except re.error:
        return _ANYTHING


def problem(text: str) -> str:
    """What Go has against a pattern; "" when nothing."""
    look = _LOOKS.search(text)
    if look:
        return f"invalid or unsupported Perl syntax: `{look[0]}`"
    reference = _REFERENCE.search(text)
    if reference:
        return f"invalid escape sequence: `{reference[1]}`"
    if _UNICODE.search(text):
        return ""
    try:
        _compiled(text)
    except re.error as error:
        return _told(error, text)
    return ""


def _compiled(text: str) -> re.Pattern[str]:
    # RE2's \z is Python's \Z, and its $ is the very end of the text
    translated = re.sub(r"(?<!\\)\$$", r"\\Z", text.replace(r"\z", r"\Z"))
    translated = re.sub(r"\(\?<(?![=!])", "(?P<", translated)
    translated = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), translated)
    return re.compile(translated, re.ASCII)


def _told(error: re.error, text: str) -> str:
    """Python's complaint in Go's words, which quote the place."""
    at = error.pos or 0
    counts = re.search(r"\{\d+,\d+\}", text)
    last = error.msg.split()[-1]
    for beginning, told in (
        ("missing ), unterminated", f"missing closing ): `{text}`"),
        ("unbalanced parenthesis", f"unexpected ): `{text}`"),
        ("unterminated character set", f"missing closing ]: `{text[at:]}`"),
        ("nothing to repeat", f"missing argument to repetition operator: `{text[at : at + 1]}`"),
        ("multiple repeat", f"invalid nested repetition operator: `{text[at - 1 : at + 1]}`"),
        ("bad escape (end", "trailing backslash at end of expression: ``"),
        ("bad escape", f"invalid escape sequence: `{last}`"),
        ("min repeat greater", f"invalid repeat count: `{counts[0] if counts else text}`"),
        ("bad character range", f"invalid character class range: `{last}`"),
    ):
        if error.msg.startswith(beginning):
            return told
    return error.msg
