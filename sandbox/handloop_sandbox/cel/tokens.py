"""
The tokens of CEL, and the error for an invalid expression.

Follows: cel-go 0.26.0 parser/gen/CEL.g4 (lexer rules), common/error.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

_ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_TOKEN: Final = rf"""
    (?P<space>\s+|//[^\n]*)
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
  | (?P<int>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
  | (?P<string>[bB]?(?:[rR](?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n\r]*"|'[^'\n\r]*')
      |\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"|'''(?:{_ESCAPE}|[^\\])*?'''
      |"(?:{_ESCAPE}|[^\\"\n\r])*"|'(?:{_ESCAPE}|[^\\'\n\r])*'))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<escaped>`[\w. /-]+`)
  | (?P<symbol>\|\||&&|==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{{}}])
"""
_NO_TOKEN: Final = rf"[bB]?(?:\"(?:{_ESCAPE}|[^\\\"\n\r])*\\?.?|'(?:{_ESCAPE}|[^\\'\n\r])*\\?.?)|[=&|].?|."
_UNESCAPED: Final = r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))"
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Problem(NamedTuple):
    """A problem in an expression, and its offset in the text."""

    at: int
    message: str


class CelSyntaxError(ValueError):
    """An expression is not valid CEL, or calls functions that Kubernetes does not have."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


class Token(NamedTuple):
    """A token: its kind ("end" for the last one), its text, and its offset."""

    kind: str
    text: str
    at: int


class Uint(int):
    """An unsigned integer, such as `1u`."""


def tokens_of(text: str, problems: list[Problem]) -> list[Token]:
    """Return the tokens of an expression. Invalid characters are skipped and added to problems."""
    found, position = [], 0
    word, other = re.compile(_TOKEN, re.VERBOSE | re.DOTALL | re.ASCII), re.compile(_NO_TOKEN, re.DOTALL)
    while position < len(text):
        match = word.match(text, position)
        if match is None:
            match = other.match(text, position)
            assert match is not None
            told = f"Syntax error: token recognition error at: '{match[0]}'"
            problems.append(Problem(position, told))
        elif match.lastgroup not in (None, "space"):
            found.append(Token(match.lastgroup or "", match[0], position))
        position = match.end()
    return [*found, Token("end", "<EOF>", len(text))]


def string_of(token: str) -> str | bytes:
    """
    Return the value of a string or bytes literal.

    Raises: ValueError if a bytes literal has a Unicode escape.
    """
    prefix = re.match("[bBrR]*", token)
    assert prefix is not None
    marks, body = prefix[0].lower(), token[prefix.end() :]
    quote = 3 if body[:3] in ('"""', "'''") else 1
    body = body[quote:-quote]
    if "b" not in marks:
        return body if "r" in marks else re.sub(_UNESCAPED, _char, body, flags=re.DOTALL)
    if "r" in marks:
        return body.encode()
    if re.search(r"(?<!\\)(?:\\\\)*\\[uU]", body):
        raise ValueError(token)
    return b"".join(
        bytes([int(code[1] or code[4], 16 if code[1] else 8)])
        if (code := re.fullmatch(_UNESCAPED, part, re.DOTALL)) and (code[1] or code[4])
        else re.sub(_UNESCAPED, _char, part, flags=re.DOTALL).encode()
        for part in re.findall(r"\\[xX]..|\\[0-7]{3}|\\.|[^\\]", body, re.DOTALL)
    )


def _char(match: re.Match[str]) -> str:
    *codes, octal, char = match.groups()
    for code in codes:
        if code:
            return chr(int(code, 16))
    return chr(int(octal, 8)) if octal else _ESCAPES.get(char, char)


def number_of(token: str) -> int:
    """Return the value of an integer literal. Raises: ValueError if it does not fit into 64 bits."""
    digits = token.rstrip("uU")
    value = int(digits, 16 if digits.startswith(("0x", "-0x")) else 10)
    if digits is not token and len(digits) < len(token):
        if value >= 2**64:
            raise ValueError(token)
        return Uint(value)
    if not -(2**63) <= value < 2**63:
        raise ValueError(token)
    return value


def told(text: str, problems: Iterable[Problem]) -> str:
    """Format the problems in an expression. Each has its source line, with a mark below the position."""
    return "\n".join(_told(text, problem) for problem in sorted(problems, key=_place))


def _place(problem: Problem) -> Any:
    return problem.at


def _told(text: str, problem: Problem) -> str:
    start = text.rfind("\n", 0, problem.at) + 1
    row, column = text.count("\n", 0, problem.at) + 1, problem.at - start
    line = text[start:].partition("\n")[0].replace("\t", " ")
    marked = "".join("." if char.isascii() else "\uff0e" for char in line[:column])
    mark = "^" if line[column : column + 1].isascii() else "\uff3e"
    return f"ERROR: <input>:{row}:{column + 1}: {problem.message}\n | {line}\n | {marked}{mark}"
