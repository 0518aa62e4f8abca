"""
Label selectors as clients write them in a query: parsed with the server's grammar and error texts.

Follows: apimachinery pkg/labels/selector.go (Lexer, Parser).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from sandbox.wire import names
from sandbox.wire.causes import invalid_value
from sandbox.wire.status import bad_request

Labels = Mapping[str, str]
LabelPredicate = Callable[[Labels], bool]

_SPECIAL: Final = frozenset("=!(),><")
_SYMBOLS: Final = frozenset(("!", "=", "==", "!=", "(", ")", ",", ">", "<"))
_OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
_WORD_OPERATORS: Final = ("in", "notin")
_INTEGER: Final = re.compile(r"[+-]?\d+")
_IDENTIFIER: Final = "identifier"
_END: Final = ""


class Requirement(NamedTuple):
    """One term; operator is `in`, `notin`, `exists`, `!`, `gt` or `lt`."""

    key: str
    operator: str
    values: tuple[str, ...]

    def matches(self, labels: Labels) -> bool:
        """Whether a set of labels satisfies it; a missing key satisfies only `!` and `notin`."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or not _INTEGER.fullmatch(value):
            return False
        bound = int(self.values[0])
        return int(value) > bound if self.operator == "gt" else int(value) < bound


def parse(text: str) -> tuple[Requirement, ...]:
    """
    The requirements a selector is made of, all of which must hold; () selects everything.

    Raises: StatusError 400 with the server's words.
    """
    return _Parser(_tokens(text)).requirements()


def predicate(requirements: tuple[Requirement, ...]) -> LabelPredicate | None:
    """A function of labels; None when everything is selected."""
    if not requirements:
        return None
    if len(requirements) == 1:
        return requirements[0].matches
    return lambda labels: all(requirement.matches(labels) for requirement in requirements)


class _ParseError(Exception):
    """Part of a selector does not parse."""


def _tokens(text: str) -> list[tuple[str, str]]:
    """(kind, literal) pairs; kind is a symbol, `in`, `notin` or `identifier`."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        literal = _literal(text, position)
        position += len(literal)
        tokens.append(
            (literal if literal in _SYMBOLS or literal in _WORD_OPERATORS else _IDENTIFIER, literal)
        )
    tokens.append((_END, ""))
    return tokens


def _literal(text: str, start: int) -> str:
    if text[start] in _SPECIAL:
        longest = text[start : start + 2]
        return longest if longest in _SYMBOLS else text[start]
    end = start
    while end < len(text) and text[end] not in _SPECIAL and not text[end].isspace():
        end += 1
    return text[start:end]


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._position = 0

    def requirements(self) -> tuple[Requirement, ...]:
        found: list[Requirement] = []
        while True:
            kind, literal = self._peek()
            if kind == _END:
                return tuple(found)
            if kind not in (_IDENTIFIER, "!"):
                raise bad_request(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except _ParseError as error:
                raise bad_request(f"unable to parse requirement: {error}") from error
            if not self._more():
                return tuple(found)

    def _more(self) -> bool:
        kind, literal = self._next()
        if kind == _END:
            return False
        if kind != ",":
            raise bad_request(f"found '{literal}', expected: ',' or 'end of string'")
        kind, literal = self._peek()
        if kind not in (_IDENTIFIER, "!"):
            raise bad_request(f"found '{literal}', expected: identifier after ','")
        return True

    def _requirement(self) -> Requirement:
        kind, key = self._next()
        negated = kind == "!"
        if negated:
            kind, key = self._next()
        if kind != _IDENTIFIER:
            raise _ParseError(f"found '{key}', expected: identifier")
        if problems := names.qualified_name(key):
            raise _ParseError(f"<nil>: {invalid_value('', key, '; '.join(problems)).message}")
        if negated or self._peek()[0] in (_END, ","):
            return Requirement(key, "!" if negated else "exists", ())
        return self._comparison(key)

    def _comparison(self, key: str) -> Requirement:
        kind, literal = self._next(values=False)
        match kind:
            case "in" | "notin":
                return _checked(Requirement(key, kind, self._values()))
            case "=" | "==":
                return _checked(Requirement(key, "in", self._exact_value()))
            case "!=":
                return _checked(Requirement(key, "notin", self._exact_value()))
            case ">" | "<":
                return _checked(Requirement(key, "gt" if kind == ">" else "lt", self._exact_value()))
        raise _ParseError(f"found '{literal}', expected: {', '.join(_OPERATORS)}")

    def _values(self) -> tuple[str, ...]:
        kind, literal = self._next()
        if kind != "(":
            raise _ParseError(f"found '{literal}' expected: '('")
        kind, literal = self._peek()
        if kind == ")":
            self._next()
            return ()
        if kind not in (_IDENTIFIER, ","):
            raise _ParseError(f"found '{literal}', expected: ',', ')' or identifier")
        values = self._identifiers()
        self._next()
        return tuple(sorted(values))

    def _identifiers(self) -> set[str]:
        values: set[str] = set()
        while True:
            kind, literal = self._next()
            if kind == _IDENTIFIER:
                values.add(literal)
                kind, literal = self._peek()
                if kind == ")":
                    return values
                if kind != ",":
                    raise _ParseError(f"found '{literal}', expected: ',' or ')'")
            elif kind == ",":
                if not values:
                    values.add("")
                if self._peek()[0] == ")":
                    values.add("")
                    return values
                if self._peek()[0] == ",":
                    self._next()
                    values.add("")
            else:
                raise _ParseError(f"found '{literal}', expected: ',', or identifier")

    def _exact_value(self) -> tuple[str, ...]:
        if self._peek()[0] in (_END, ","):
            return ("",)
        kind, literal = self._next()
        if kind != _IDENTIFIER:
            raise _ParseError(f"found '{literal}', expected: identifier")
        return (literal,)

    def _peek(self) -> tuple[str, str]:
        kind, literal = self._tokens[min(self._position, len(self._tokens) - 1)]
        return (_IDENTIFIER if kind in _WORD_OPERATORS else kind), literal

    def _next(self, *, values: bool = True) -> tuple[str, str]:
        # where a key or a value is expected, `in` and `notin` are ordinary words
        kind, literal = self._tokens[min(self._position, len(self._tokens) - 1)]
        self._position += 1
        return (_IDENTIFIER if values and kind in _WORD_OPERATORS else kind), literal


def _checked(requirement: Requirement) -> Requirement:
    for index, value in enumerate(requirement.values):
        if requirement.operator in ("gt", "lt") and not _INTEGER.fullmatch(value):
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _ParseError(f"values[{index}]: {invalid_value('', value, text).message}")
        if problems := names.label_value(value):
            detail = invalid_value("", value, "; ".join(problems)).message
            raise _ParseError(f"values[{index}][{requirement.key}]: {detail}")
    return requirement
