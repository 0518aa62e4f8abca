"""
Regular expressions that mean the same to the decoder, in Python, and to the server, in Go.

Only syntax that has the same meaning in both is accepted. For example, `$` is refused, because in Python it
also matches before a final newline.
Follows: Go's regexp/syntax, with Perl flags as in regexp.MustCompile.
"""

from __future__ import annotations

import re
from typing import Final

_ASCII: Final = "(?a)"
_MOST: Final = 1000
"""The highest number of repetitions that Go allows."""

_TOKEN: Final = re.compile(
    r"""
    (?P<set> \[ \^? \]? (?: \\. | [^]\\] )* \] )
  | (?P<escape> \\. (?: (?<=x) [0-9a-fA-F]{2} )? )
  | (?P<group> \( (?: \?: | \?P<\w+> | (?!\?) ) )
  | (?P<repeat> (?: [*+?] | \{ (?P<least>\d+) (?: ,(?P<most>\d*) )? \} ) \?? (?! \+ ) )
  | (?P<plain> [^\\$?*+({\[] | \{ (?! ,?\d ) )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE: Final = re.compile(r"\\. (?: (?<=x) [0-9a-fA-F]{2} )?", re.VERBOSE | re.DOTALL)
_SAME_ESCAPE: Final = re.compile(r"\\(?: [!-/:-@\[-`{-~\ tnrfva] | x[0-9a-fA-F]{2} )", re.VERBOSE)
_LETTERS: Final = (r"\d", r"\D", r"\w", r"\W")
_EDGES: Final = (r"\b", r"\B")
_ANCHORS: Final = {r"\A": r"\A", r"\Z": "$"}
_WAYS_OUT: Final = {
    "$": r"it also matches before a final newline in Python: write \Z",
    r"\s": r"it matches other characters in Go: write a set, such as [ \t]",
    r"\S": r"it matches other characters in Go: write a set, such as [^ \t]",
    **dict.fromkeys(
        (*_LETTERS, *_EDGES),
        "it matches more than ASCII in Python: start the pattern with (?a), or write a set such as [0-9]",
    ),
}


def go_pattern(pattern: str) -> str:
    r"""
    Return the same pattern for Go: `\Z` becomes `$`, and a leading `(?a)` is left out.

    Raises: ValueError that names the part that differs in meaning, and says how to fix it.
    """
    rest = pattern.removeprefix(_ASCII)
    is_ascii = rest != pattern
    parts = []
    while rest:
        token = _TOKEN.match(rest)
        if token is None:
            raise _unlike("$" if rest[0] == "$" else rest[:3])
        parts.append(_spelled(token, is_ascii=is_ascii))
        rest = rest[token.end() :]
    return "".join(parts)


def _spelled(token: re.Match[str], *, is_ascii: bool) -> str:
    text = token[0]
    if token["escape"]:
        _check_escape(text, (*_ANCHORS, *(_LETTERS + _EDGES if is_ascii else ())))
    if token["set"]:
        _check_set(text[1:-1], _LETTERS if is_ascii else ())
    if max(int(token["least"] or 0), int(token["most"] or 0)) > _MOST:
        raise _unlike(text)
    return _ANCHORS.get(text, text)


def _check_set(inside: str, same: tuple[str, ...]) -> None:
    for unlike in ("[:", "[.", "[=", "--", "&&", "~~", "||"):
        if unlike in inside:
            raise _unlike(unlike)
    for escape in _ESCAPE.findall(inside):
        _check_escape(escape, same)


def _check_escape(text: str, same: tuple[str, ...]) -> None:
    if text not in same and not _SAME_ESCAPE.fullmatch(text):
        raise _unlike(text)


def _unlike(text: str) -> ValueError:
    why = _WAYS_OUT.get(text, "leave it out")
    return ValueError(f"{text} does not mean the same in the server's Go patterns as in Python: {why}")
