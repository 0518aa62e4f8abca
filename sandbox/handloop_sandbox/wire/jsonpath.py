"""
JSONPath as printer columns use it: members, indices, slices, wildcards, recursive descent and filters.

Follows: client-go util/jsonpath (jsonpath.go, parser.go). Differs: unions of members (`['a','b']`) and
`range` are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

Step = Callable[[Any], Iterable[Any]]

_TOKEN = re.compile(
    r"""
    \.\.(?P<descent>[^.\[\]'"()?@=<>!\s]+)
  | \.\[|\.(?P<member>(?:\\.|[^.\[\]'"()?@=<>!\s\\])+)
  | \[\s*'(?P<quoted>(?:[^'\\]|\\.)*)'\s*\]
  | \[\s*"(?P<double>(?:[^"\\]|\\.)*)"\s*\]
  | \[\s*(?P<index>-?\d+)\s*\]
  | \[\s*(?P<start>-?\d*)\s*:\s*(?P<stop>-?\d*)\s*(?::\s*(?P<step>-?\d*)\s*)?\]
  | \[(?P<star>\s*\*\s*|)\]
  | \[\?\((?P<filter>(?:[^)'"]|'[^']*'|"[^"]*")*)\)\s*\]
  | (?P<bare>^(?:\\.|[^.\[\]'"()?@=<>!\s\\])+)
    """,
    re.VERBOSE,
)
_COMPARISON = re.compile(r"^(?P<left>.*?)\s*(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>.*)$", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


class JSONPathError(ValueError):
    """A string is not a JSONPath that this server supports."""


class Path(NamedTuple):
    """A parsed path."""

    steps: tuple[Step, ...]

    def find(self, value: Any) -> list[Any]:
        """Return every value at the path, or [] if a member is missing."""
        found = [value]
        for step in self.steps:
            found = [child for parent in found for child in step(parent)]
        return found


@lru_cache(maxsize=1024)
def parse(text: str) -> Path:
    """
    Parse a JSONPath such as `.status.conditions[?(@.type=="Ready")].status`.

    Raises: JSONPathError if this server does not support the path.
    """
    steps: list[Step] = []
    rest = text.strip().removeprefix("$").removeprefix("@")
    position = 0
    while position < len(rest):
        found = _TOKEN.match(rest, position)
        if found is None or found.end() == position:
            raise JSONPathError(f"unrecognized path {text!r}")
        if rest[position : found.end()] == ".[":
            position += 1
            continue
        if found["bare"] and position:
            raise JSONPathError(f"unrecognized path {text!r}")
        steps.append(_step(found))
        position = found.end()
    return Path(tuple(steps))


def _step(found: re.Match[str]) -> Step:
    name = found["member"] or found["quoted"] or found["double"] or found["bare"]
    if name is not None:
        return _every if name == "*" else _member(name.replace("\\", ""))
    if found["descent"]:
        return _descent(found["descent"])
    if found["index"]:
        return _index(int(found["index"]))
    if found["star"] is not None:
        return _every
    if found["filter"] is not None:
        return _filter(found["filter"])
    return _slice(*(int(part) if part else None for part in (found["start"], found["stop"], found["step"])))


def _member(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _every(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _index(index: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        fits = isinstance(value, list) and -len(value) <= index < len(value)
        return [value[index]] if fits else []

    return step


def _slice(start: int | None, stop: int | None, stride: int | None) -> Step:
    return lambda value: value[slice(start, stop, stride)] if isinstance(value, list) else []


def _descent(name: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        here = [value[name]] if isinstance(value, dict) and name in value else []
        return [*here, *(found for child in _every(value) for found in step(child))]

    return step


def _filter(text: str) -> Step:
    compared = _COMPARISON.match(text.strip())
    if compared is None:
        operand = _operand(text.strip())
        return lambda value: [entry for entry in _entries(value) if operand(entry)]
    left, right = _operand(compared["left"]), _operand(compared["right"])
    holds = _COMPARE[compared["operator"]]

    def step(value: Any) -> Iterable[Any]:
        return [entry for entry in _entries(value) if _holds(holds, left(entry), right(entry))]

    return step


def _entries(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else []


def _operand(text: str) -> Callable[[Any], list[Any]]:
    """Return a function that maps an entry to the value of one side of a comparison, as a list."""
    text = text.strip()
    if text.startswith(("@", "$")):
        path = parse(text)
        return path.find
    value = _literal(text)
    return lambda _entry: [value]


def _literal(text: str) -> Any:
    if text[:1] in {"'", '"'} and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if text in {"true", "false"}:
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    raise JSONPathError(f"unrecognized literal {text!r}")


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _holds(compare: Callable[[Any, Any], bool], left: list[Any], right: list[Any]) -> bool:
    """Compare the two sides of a filter. A missing value, or a value of another type, never matches."""
    if not left or not right:
        return False
    numbers = all(
        isinstance(side, (int, float)) and not isinstance(side, bool) for side in (left[0], right[0])
    )
    if not numbers and type(left[0]) is not type(right[0]):
        return False
    return compare(left[0], right[0])
