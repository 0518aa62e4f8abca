"""
CEL values that Python lacks, comparisons and operators, and the conversion of JSON values by their schema.

Follows: the CEL language definition: values are not converted implicitly, integers have 64 bits, and division
rounds towards zero.
"""

from __future__ import annotations

import base64
import math
import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from handloop_sandbox.cel.tokens import Uint
from handloop_sandbox.grammar import duration
from handloop_sandbox.kinds import structure
from handloop_sandbox.wire import go_time
from handloop_sandbox.wire.go_url import GoUrl
from handloop_sandbox.wire.resource import Schema

_INT64: Final = 2**63
_LONGEST: Final = timedelta(microseconds=(_INT64 - 1) // 1000)


class CelError(Exception):
    """An expression cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type that is used as a value, as in `type(1) == int`."""

    name: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes quantity."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    present: bool
    value: Any = None


NONE: Final = Optional(present=False)


def type_of(value: Any) -> Type:
    """Return the type of a value."""
    if value is None:
        return Type("null_type")
    return Type(getattr(value, "cel_type", "") or _NAMES.get(type(value), "map"))


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    Uint: "uint",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    datetime: "google.protobuf.Timestamp",
    timedelta: "google.protobuf.Duration",
    Type: "type",
    Optional: "optional_type",
    Quantity: "kubernetes.Quantity",
    GoUrl: "kubernetes.URL",
}


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal. A boolean never equals a number."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return bool(left == right)


def checked_int(value: int) -> int:
    """Return an integer unchanged. Raises: CelError if the integer does not fit into 64 bits."""
    if not -_INT64 <= value < _INT64:
        raise CelError("integer overflow")
    return value


def _whole(like: Any, value: Any) -> Any:
    """
    Return value, the result of an operation on operands of the same type as like.

    Raises: CelError if an integer does not fit into 64 bits.
    """
    if isinstance(like, Uint):
        if not 0 <= value < 2 * _INT64:
            raise CelError("unsigned integer overflow")
        return Uint(value)
    return checked_int(value) if isinstance(value, int) else value


def parse_duration(text: str) -> timedelta:
    """Parse a duration such as `1h30m`, with microsecond precision. Raises: CelError if it is invalid."""
    try:
        return timedelta(microseconds=duration.parse_duration(text) / 1000)
    except duration.DurationError as error:
        raise CelError(str(error)) from error


def parse_timestamp(text: str) -> datetime:
    """Parse a timestamp. Raises: CelError if it is invalid."""
    try:
        return go_time.parse(text)
    except go_time.TimeError as error:
        raise CelError(str(error)) from error


def bound(schema: Schema, value: Any) -> Any:
    """
    Convert JSON to a CEL value. Strings of some formats become timestamps and durations.

    A string that cannot be parsed becomes a CelError, which is raised only if an expression reads it.
    """
    match value:
        case str():
            try:
                return _formatted(schema.get("format", ""), value)
            except CelError as error:
                return error
        case list():
            items = structure.items_of(schema)
            return [bound(items, entry) for entry in value] if items else value
        case dict():
            declared, others = structure.properties(schema), structure.value_of(schema) or {}
            if declared or others:
                return {name: bound(declared.get(name) or others, entry) for name, entry in value.items()}
    return value


def readable(value: Any) -> Any:
    """Return the value. Raises: CelError if bound() stored an error in place of the value."""
    if isinstance(value, CelError):
        raise value
    return value


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CelError(str(error)) from error


def _formatted(name: str, text: str) -> Any:
    match name:
        case "date-time":
            return parse_timestamp(text)
        case "date":
            return parse_timestamp(f"{text}T00:00:00Z")
        case "duration":
            return parse_duration(text)
        case "byte":
            return _decoded(text)
    return text


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def apply(left: Any, right: Any) -> bool:
        try:
            return compare(left, right)
        except TypeError as error:
            raise CelError("no such overload") from error

    return apply


def _in(left: Any, right: Any) -> bool:
    if isinstance(right, dict):
        return isinstance(left, Hashable) and left in right
    if isinstance(right, list):
        return any(equal(left, entry) for entry in right)
    raise CelError("no such overload")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _add(left: Any, right: Any) -> Any:
    timed = isinstance(left, (datetime, timedelta)) and isinstance(right, (datetime, timedelta))
    same = type(left) is type(right) and isinstance(left, (str, list))
    if not (timed or same or (_is_number(left) and type(left) is type(right))):
        raise CelError("no such overload")
    return _timed(operator.add, left, right) if timed else _whole(left, left + right)


def _subtract(left: Any, right: Any) -> Any:
    timed = isinstance(left, (datetime, timedelta)) and isinstance(right, (datetime, timedelta))
    if not (timed or (_is_number(left) and type(left) is type(right))):
        raise CelError("no such overload")
    return _timed(operator.sub, left, right) if timed else _whole(left, left - right)


def _timed(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Add or subtract timestamps and durations. Raises: CelError if the result is out of CEL's range."""
    what = "timestamp" if isinstance(left, datetime) != isinstance(right, datetime) else "duration"
    try:
        found = operation(left, right)
    except OverflowError as error:
        raise CelError(f"{what} overflow") from error
    if isinstance(found, timedelta) and abs(found) > _LONGEST:
        raise CelError("duration overflow")
    return found


def _multiply(left: Any, right: Any) -> Any:
    _check_numbers(left, right)
    return _whole(left, left * right)


def _divide(left: Any, right: Any) -> Any:
    _check_numbers(left, right)
    if isinstance(left, float):
        if right == 0:
            return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
        return left / right
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return _whole(left, quotient if (left < 0) == (right < 0) else -quotient)


def _remainder(left: Any, right: Any) -> Any:
    _check_numbers(left, right)
    if isinstance(left, float):
        raise CelError("no such overload")
    if right == 0:
        raise CelError("modulus by zero")
    return _whole(left, abs(left) % abs(right) * (-1 if left < 0 else 1))


def _check_numbers(left: Any, right: Any) -> None:
    if not _is_number(left) or type(left) is not type(right):
        raise CelError("no such overload")


OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _compared(operator.lt),
    "<=": _compared(operator.le),
    ">": _compared(operator.gt),
    ">=": _compared(operator.ge),
    "in": _in,
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
}
