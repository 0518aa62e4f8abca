"""The values of CEL beyond Python's own, how they compare, and what a schema makes of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from handloop.apis import duration
from handloop.sandbox.kinds import structure
from handloop.sandbox.wire import go_time
from handloop.sandbox.wire.resource import Schema

_INT64: Final = 2**63


class CelError(Exception):
    """An expression cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type as a value: `type(1) == int`."""

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
    """The type of a value."""
    if value is None:
        return Type("null_type")
    return Type(_NAMES.get(type(value), "map"))


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
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
}


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same; a boolean is never a number."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return bool(left == right)


def checked_int(value: int) -> int:
    """A whole number of 64 bits. Raises: CelError."""
    if not -_INT64 <= value < _INT64:
        raise CelError("integer overflow")
    return value


def parse_duration(text: str) -> timedelta:
    """A duration such as `1h30m`, to the microsecond. Raises: CelError."""
    try:
        return timedelta(microseconds=duration.parse_duration(text) / 1000)
    except duration.DurationError as error:
        raise CelError(str(error)) from error


def parse_timestamp(text: str) -> datetime:
    """A moment. Raises: CelError."""
    try:
        return go_time.parse(text)
    except go_time.TimeError as error:
        raise CelError(str(error)) from error


def bound(schema: Schema, value: Any) -> Any:
    """JSON as expressions see it: texts of some formats are moments and durations."""
    match value:
        case str():
            return _formatted(schema.get("format", ""), value)
        case list():
            items = structure.items_of(schema) or {}
            return [bound(items, entry) for entry in value]
        case dict():
            return {
                name: bound(structure.property_of(schema, name) or {}, entry) for name, entry in value.items()
            }
    return value


def _formatted(name: str, text: str) -> Any:
    match name:
        case "date-time":
            return parse_timestamp(text)
        case "date":
            return parse_timestamp(f"{text}T00:00:00Z")
        case "duration":
            return parse_duration(text)
    return text
