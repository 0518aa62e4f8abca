"""
JSON as Go parses it: syntax error messages, duplicate members, unpaired surrogates.

Follows: encoding/json scanner.go (error texts), decode.go (unquote), sigs.k8s.io/json (duplicate fields).
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, Final

_SPACE: Final = " \t\r\n"
_LITERALS: Final = {"t": "true", "f": "false", "n": "null"}
_ESCAPES: Final = 'bfnrt\\/"u'
_HEX: Final = frozenset("0123456789abcdefABCDEF")
END: Final = "unexpected end of JSON input"
_MAX_DEPTH: Final = 10_000
_WHOLE_LIMIT: Final = 1e21
_ODD_NUMBER: Final = re.compile(rb"[:\[,\s]-?(?:\d{19}|\d[\d.]*[eE][+\d])")
_INT64: Final = 2**63
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Matches an escape or a surrogate pair. The group captures an unpaired surrogate."""


class JSONError(ValueError):
    """A string is not valid JSON. The message is Go's."""


class RangeError(ValueError):
    """A number does not fit into a float64. The message is Go's, except for the name of the target."""


class Overflown(float):
    """A number outside float64's range. A type that parses the digits itself may still accept it."""

    text: str = ""


class _Duplicated(dict[str, Any]):
    """An object in which the members in names occur more than once. It contains their last values."""

    names: tuple[str, ...] = ()


def parse(text: str) -> Any:
    """
    Return the value of a JSON text.

    Raises: JSONError if the text is not valid JSON.
    """
    try:
        return json.loads(_whole_pairs(text), parse_float=_number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise JSONError(syntax_error(text)) from error


def parse_noting_duplicates(text: str) -> tuple[Any, list[str]]:
    """
    Return the value of a JSON text, and the paths of the members that occur more than once.

    Raises: JSONError if the text is not valid JSON.
    """
    found = False

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        built = dict(pairs)
        if len(built) == len(pairs):
            return built
        found = True
        duplicated = _Duplicated(built)
        names = [name for name, _ in pairs]
        duplicated.names = tuple(name for name in built if names.count(name) > 1)
        return duplicated

    try:
        value = json.loads(
            _whole_pairs(text), object_pairs_hook=build, parse_float=_number, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise JSONError(syntax_error(text)) from error
    if not found:
        return value, []
    paths: list[str] = []
    return _plain(value, "", paths), paths


def syntax_error(text: str) -> str:
    """Return Go's error message for a string that is not valid JSON."""
    try:
        scanner = _Scanner(text)
        scanner.value(0)
        scanner.end()
    except JSONError as error:
        return str(error)
    return END


def unstructured(value: Any) -> Any:
    """
    Return a value as Go stores it in an interface{}: numbers outside int64 become float64.

    Raises: RangeError for a number that does not fit into a float64.
    """
    if isinstance(value, dict):
        return {name: unstructured(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [unstructured(entry) for entry in value]
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        return _as_float(value)
    if isinstance(value, Overflown):
        raise RangeError(f"json: cannot unmarshal number {value.text} into Go value of type float64")
    return value


def has_odd_numbers(text: bytes) -> bool:
    """Return whether a JSON text may contain numbers that unstructured() changes or rejects."""
    return _ODD_NUMBER.search(text) is not None


def _as_float(value: int) -> float:
    try:
        return _shortest(float(value))
    except OverflowError as error:
        raise RangeError(f"json: cannot unmarshal number {value} into Go value of type float64") from error


def _number(text: str) -> float:
    """
    Return the value of a number with a fraction or exponent.

    A whole number becomes an int, because Go writes it without a decimal point.
    """
    number = float(text)
    if math.isinf(number):
        number = Overflown(number)
        number.text = text
        return number
    return _shortest(number)


def _shortest(number: float) -> float:
    """Return a whole float64 as an int with the fewest significant digits that identify it."""
    if not number.is_integer() or abs(number) >= _WHOLE_LIMIT:
        return number
    return int(number) if abs(number) < _INT64 else int(Decimal(repr(number)))


def _whole_pairs(text: str) -> str:
    """Return a JSON text in which unpaired surrogates are replaced by U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return _ESCAPE.sub(lambda found: "\\ufffd" if found[1] else found[0], text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _plain(value: Any, path: str, paths: list[str]) -> Any:
    if isinstance(value, dict):
        if isinstance(value, _Duplicated):
            paths += [f"{path}.{name}".removeprefix(".") for name in value.names]
        return {name: _plain(entry, f"{path}.{name}", paths) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry, f"{path}[{index}]", paths) for index, entry in enumerate(value)]
    return value


class _Scanner:
    """A scanner that finds the error in a string that the JSON parser has rejected."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def value(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise JSONError("exceeded max depth")
        char = self._next_token()
        match char:
            case "{":
                self._object(depth)
            case "[":
                self._array(depth)
            case '"':
                self._string()
            case "t" | "f" | "n":
                self._literal(_LITERALS[char])
            case _ if char == "-" or char.isdecimal():
                self._number(char)
            case _:
                raise self._invalid(char, "looking for beginning of value")

    def end(self) -> None:
        while self._position < len(self._text):
            char = self._take()
            if char not in _SPACE:
                raise self._invalid(char, "after top-level value")

    def _object(self, depth: int) -> None:
        char = self._next_token()
        if char == "}":
            return
        while True:
            if char != '"':
                raise self._invalid(char, "looking for beginning of object key string")
            self._string()
            self._expect(":", "after object key")
            self.value(depth + 1)
            char = self._next_token()
            if char == "}":
                return
            if char != ",":
                raise self._invalid(char, "after object key:value pair")
            char = self._next_token()

    def _array(self, depth: int) -> None:
        char = self._next_token()
        if char == "]":
            return
        self._position -= 1
        while True:
            self.value(depth + 1)
            char = self._next_token()
            if char == "]":
                return
            if char != ",":
                raise self._invalid(char, "after array element")

    def _string(self) -> None:
        while True:
            char = self._take()
            if char == '"':
                return
            if char < " ":
                raise self._invalid(char, "in string literal")
            if char == "\\":
                self._escape()

    def _escape(self) -> None:
        char = self._take()
        if char not in _ESCAPES:
            raise self._invalid(char, "in string escape code")
        if char == "u":
            for _ in range(4):
                digit = self._take()
                if digit not in _HEX:
                    raise self._invalid(digit, "in \\u hexadecimal character escape")

    def _literal(self, word: str) -> None:
        for expected in word[1:]:
            char = self._take()
            if char != expected:
                raise self._invalid(char, f"in literal {word} (expecting '{expected}')")

    def _number(self, first: str) -> None:
        if first == "-":
            first = self._take()
            if not first.isdecimal():
                raise self._invalid(first, "in numeric literal")
        if first != "0":
            self._digits()
        if self._peek() == ".":
            self._take()
            self._digit("after decimal point in numeric literal")
        if self._peek() in ("e", "E"):
            self._take()
            if self._peek() in ("+", "-"):
                self._take()
            self._digit("in exponent of numeric literal")

    def _digit(self, context: str) -> None:
        char = self._take()
        if not char.isdecimal():
            raise self._invalid(char, context)
        self._digits()

    def _digits(self) -> None:
        while self._peek().isdecimal():
            self._position += 1

    def _expect(self, wanted: str, context: str) -> None:
        char = self._next_token()
        if char != wanted:
            raise self._invalid(char, context)

    def _next_token(self) -> str:
        char = self._take()
        while char in _SPACE:
            char = self._take()
        return char

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise JSONError(END)
        self._position += 1
        return char

    def _invalid(self, char: str, context: str) -> JSONError:
        shown = {"'": r"'\''", '"': "'\"'"}.get(char) or _quoted_char(char)
        return JSONError(f"invalid character {shown} {context}")


def _quoted_char(char: str) -> str:
    named = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "\a": r"\a", "\b": r"\b"}
    if char in named:
        return f"'{named[char]}'"
    if char.isprintable():
        return f"'{char}'"
    return f"'\\x{ord(char):02x}'" if ord(char) < 0x80 else f"'\\u{ord(char):04x}'"  # noqa: PLR2004 - ASCII


def quoted(text: str) -> str:
    """Return a string as JSON."""
    return json.dumps(text, ensure_ascii=False)
