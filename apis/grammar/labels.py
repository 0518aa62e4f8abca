"""
Label selectors choose the objects of a query, a lister or a watch.

Follows: apimachinery pkg/labels/selector.go; the grammar, the meaning and the error texts are those of
kube-apiserver 1.36.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .label_syntax import label_key_errors, label_value_errors

_INT64: Final = range(-(2**63), 2**63)
_INT64_DIGITS: Final = 19
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_TOKEN: Final = re.compile(r"==|!=|[=!<>(),]|[^=!<>(), \t\r\n]+")
_PUNCTUATION: Final = frozenset(("", "==", "!=", "=", "!", "<", ">", "(", ")", ","))


class SelectorError(ValueError):
    """A string is not a label selector. The message is the server's."""


class Operator(StrEnum):
    """How a requirement compares."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_SETS: Final = frozenset((Operator.IN, Operator.NOT_IN))
_NUMERIC: Final = frozenset((Operator.GREATER_THAN, Operator.LESS_THAN))
_UNARY: Final = frozenset((Operator.EXISTS, Operator.DOES_NOT_EXIST))
_BINARY: Final = {operator.value: operator for operator in Operator if operator not in _UNARY}


@dataclass(frozen=True, slots=True)
class Requirement:
    """
    One condition on one label.

    values are sorted and distinct. EXISTS and DOES_NOT_EXIST have no values, IN and NOT_IN have at least one,
    and the other operators have exactly one.
    Raises: SelectorError if the key or the values do not fit the operator.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(set(self.values))))
        if problems := [*_key_problems(self.key), *self._problems()]:
            raise SelectorError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the label meets the condition. An absent label meets NOT_IN and NOT_EQUALS."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN | Operator.EQUALS | Operator.DOUBLE_EQUALS:
                return value in self.values
            case Operator.NOT_IN | Operator.NOT_EQUALS:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        number, bound = _integer(value or ""), int(self.values[0])
        if number is None:
            return False
        return number > bound if self.operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(self.values)})"
        return f"{self.key}{self.operator}{self.values[0]}"

    def _problems(self) -> Iterable[str]:
        yield from self._count_problems()
        if self.operator in _NUMERIC:
            for position, value in enumerate(self.values):
                if _integer(value) is None:
                    problem = "for 'Gt', 'Lt' operators, the value must be an integer"
                    yield f"values[{position}]: Invalid value: {_quoted(value)}: {problem}"
        for position, value in enumerate(self.values):
            if errors := label_value_errors(value):
                yield f"values[{position}][{self.key}]: Invalid value: {_quoted(value)}: {'; '.join(errors)}"

    def _count_problems(self) -> Iterable[str]:
        count, shown = len(self.values), f"values: Invalid value: {json.dumps(self.values)}:"
        if self.operator in _SETS:
            if count == 0:
                yield f"{shown} for 'in', 'notin' operators, values set can't be empty"
        elif self.operator in _UNARY:
            if count != 0:
                yield f"{shown} values set must be empty for exists and does not exist"
        elif count != 1:
            numeric = "for 'Gt', 'Lt' operators, exactly one value is required"
            exact = "exact-match compatibility requires one single value"
            yield f"{shown} {numeric if self.operator in _NUMERIC else exact}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects the objects whose labels meet every requirement, or no objects if `nothing` is set."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def everything(self) -> bool:
        """Return whether every object is selected. If so, labels need not be compared."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is selected."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


_EVERYTHING: Final = Selector()
_NOTHING: Final = Selector(nothing=True)


def everything() -> Selector:
    """Select every object."""
    return _EVERYTHING


def nothing() -> Selector:
    """Select no object."""
    return _NOTHING


def parse_selector(text: str) -> Selector:
    """
    Parse a selector as written in queries: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`.

    All requirements must hold. The empty text selects everything. The result's requirements are sorted by
    key.

    Raises: SelectorError for a string that is not a label selector.
    """
    return _selector(_Parser(text).requirements())


def _selector(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _key_problems(key: str) -> Iterable[str]:
    if errors := label_key_errors(key):
        yield f"<nil>: Invalid value: {_quoted(key)}: {'; '.join(errors)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _integer(text: str) -> int | None:
    """Return the text as a 64-bit integer, or None if it is not one in decimal notation."""
    digits = text.lstrip("+-0")
    # int() raises ValueError above 4300 digits, and counts leading zeros.
    if not _INTEGER.fullmatch(text) or len(digits) > _INT64_DIGITS:
        return None
    number = int(digits or "0") * (-1 if text[0] == "-" else 1)
    return number if number in _INT64 else None


class _Parser:
    """A recursive-descent parser. The token "" marks the end. `in` and `notin` can also be keys or values."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._at = 0

    def requirements(self) -> list[Requirement]:
        """Read requirements separated by commas. An empty string has no requirements."""
        found: list[Requirement] = []
        if not self._peek():
            return found
        expected = "!, identifier, or 'end of string'"
        while True:
            if self._peek() != "!" and not self._at_identifier():
                raise SelectorError(f"found '{self._peek()}', expected: {expected}")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            separator = self._next()
            if not separator:
                return found
            if separator != ",":
                raise SelectorError(f"found '{separator}', expected: ',' or 'end of string'")
            expected = "identifier after ','"

    def _requirement(self) -> Requirement:
        """Read one requirement: `key`, `!key`, or a key with an operator and values."""
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._identifier()
        if problems := [*_key_problems(key)]:
            raise SelectorError(problems[0])
        if absent:
            return Requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek() in ("", ","):
            return Requirement(key, Operator.EXISTS)
        token = self._next()
        operator = _BINARY.get(token)
        if operator is None:
            raise SelectorError(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        return Requirement(key, operator, tuple(self._set() if operator in _SETS else self._exact_value()))

    def _exact_value(self) -> list[str]:
        """Return an identifier, or "" for an empty value."""
        return [""] if self._peek() in ("", ",") else [self._identifier()]

    def _set(self) -> list[str]:
        """Read values in parentheses. A missing value next to a comma, or in `()`, is an empty value."""
        if (token := self._next()) != "(":
            raise SelectorError(f"found '{token}' expected: '('")
        if self._peek() not in (")", ",") and not self._at_identifier():
            raise SelectorError(f"found '{self._peek()}', expected: ',', ')' or identifier")
        values: list[str] = []
        while True:
            values.append(self._next() if self._at_identifier() else "")
            separator = self._next()
            if separator == ")":
                return values
            if separator != ",":
                raise SelectorError(f"found '{separator}', expected: {_after(values[-1])}")

    def _identifier(self) -> str:
        if not self._at_identifier():
            raise SelectorError(f"found '{self._peek()}', expected: identifier")
        return self._next()

    def _at_identifier(self) -> bool:
        return self._peek() not in _PUNCTUATION

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _next(self) -> str:
        """Consume one token, but never the end."""
        token = self._tokens[self._at]
        if token:
            self._at += 1
        return token


def _after(value: str) -> str:
    """Return the tokens that the server's error lists as expected after this value of a set."""
    return "',' or ')'" if value else "',', or identifier"
