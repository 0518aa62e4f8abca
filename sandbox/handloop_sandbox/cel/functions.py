"""
The functions of CEL and of Kubernetes' CEL libraries.

Follows: CEL standard definitions; apiserver pkg/cel/library (lists, regex, quantity), cel-go ext/strings.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final, TypeVar

from handloop_sandbox.cel import moments, network, texts
from handloop_sandbox.cel.network import Address, Network, parses
from handloop_sandbox.cel.tokens import Uint
from handloop_sandbox.cel.values import (
    NONE,
    CelError,
    Optional,
    Quantity,
    Type,
    checked_int,
    equal,
    parse_duration,
    parse_timestamp,
    type_of,
)
from handloop_sandbox.grammar.quantity import QuantityError, parse_quantity
from handloop_sandbox.wire import go_regexp, go_time
from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.go_format import go_float

Function = Callable[..., Any]
_T = TypeVar("_T")
_INTEGER: Final = re.compile("[+-]?[0-9]+")
_NUMBER: Final = re.compile(
    r"[+-]?({0}\.?({0})?|\.{0})(e[+-]?{0})?|[+-]?inf(inity)?|nan".format("[0-9](_?[0-9])*"), re.IGNORECASE
)
_LARGEST_UINT: Final = 2**64 - 1
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_UPPER: Final = str.maketrans(ascii_lowercase, ascii_uppercase)
_MICROSECOND: Final = timedelta(microseconds=1)


def size(value: Any) -> int:
    """Return the number of characters, bytes, elements or entries of a value."""
    if not isinstance(value, (str, list, dict, bytes)):
        raise CelError("no such overload: size")
    return len(value)


def _to_int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, timedelta):
        return value // _MICROSECOND * 1000
    if isinstance(value, str):
        return _read("int", _whole, value)
    try:
        return checked_int(int(value))
    except OverflowError as error:
        raise CelError("integer overflow") from error
    except (TypeError, ValueError) as error:
        raise CelError(f"type conversion error from '{type_of(value).name}' to 'int'") from error


def _read(name: str, parse: Callable[[str], _T], text: str) -> _T:
    """Convert a string with parse. Raises: CelError if parse fails."""
    try:
        return parse(text)
    except (ValueError, CelError) as error:
        raise CelError(f"type conversion error from 'string' to '{name}'") from error


def _whole(text: str) -> int:
    """Parse an integer. int() alone would also accept `1_000` and spaces."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return checked_int(int(text))


def _float(text: str) -> float:
    found = float(text) if _NUMBER.fullmatch(text) else None
    if found is None or (math.isinf(found) and "n" not in text.lower()):
        raise ValueError(text)
    return found


def _to_double(value: Any) -> float:
    if isinstance(value, str):
        return _read("double", _float, value)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise CelError(f"type conversion error from '{type_of(value).name}' to 'double'") from error


def _to_string(value: Any) -> str:
    shown = next((show for kind, show in _SHOWN if isinstance(value, kind)), str)
    return shown(value)


def _seconds(value: timedelta) -> str:
    whole, micros = divmod(abs(value) // _MICROSECOND, 10**6)
    return f"{'-' if value < timedelta() else ''}{_without_zeros(f'{whole}.{micros:06d}')}s"


def _without_zeros(text: str) -> str:
    """Return a decimal number without trailing zeros, and without a decimal point if it is whole."""
    return text.rstrip("0").rstrip(".")


def _within(value: Any) -> str:
    """Format an element of a list or map for printf."""
    return quoted(value) if isinstance(value, str) else _to_string(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "True", "TRUE", "t", "T", "1"):
        return True
    if value in ("false", "False", "FALSE", "f", "F", "0"):
        return False
    raise CelError("type conversion error from 'string' to 'bool'")


def _to_quantity(text: str) -> Quantity:
    try:
        return Quantity(parse_quantity(text))
    except QuantityError as error:
        raise CelError(str(error)) from error


def _duration(value: Any) -> timedelta:
    if isinstance(value, int):
        return value // 1000 * _MICROSECOND
    if isinstance(value, timedelta):
        return value
    return _read("google.protobuf.Duration", parse_duration, value)


def _timestamp(value: Any) -> datetime:
    if isinstance(value, int):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OverflowError, ValueError) as error:
            raise CelError("timestamp overflow") from error
    if isinstance(value, datetime):
        return value
    return _read("google.protobuf.Timestamp", parse_timestamp, value)


def _to_uint(value: Any) -> Uint:
    if isinstance(value, str):
        return _read("uint", _unsigned, value)
    found = _to_int(value)
    if found < 0:
        raise CelError("unsigned integer overflow")
    return Uint(found)


def _unsigned(text: str) -> Uint:
    if not text.isascii() or not text.isdigit() or int(text) > _LARGEST_UINT:
        raise ValueError(text)
    return Uint(int(text))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, len(text) if end is None else end):
        if not 0 <= index <= len(text):
            raise CelError(f"index out of range: {index}")
    return text[start:end]


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def _check_index(index: int) -> None:
    if index < 0:
        raise CelError(f"index out of range: {index}")


def _index_of(where: str | list[Any], what: Any, start: int = 0) -> int:
    if isinstance(where, str):
        _check_index(start)
        return where.find(what, start) if start < len(where) else -1
    return next((index for index, entry in enumerate(where) if equal(entry, what)), -1)


def _last_index_of(where: str | list[Any], what: Any, end: int | None = None) -> int:
    if isinstance(where, str):
        _check_index(0 if end is None else end)
        return where.rfind(what, 0, None if end is None else end + len(what))
    return next((index for index in reversed(range(len(where))) if equal(where[index], what)), -1)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text)
    return text.split(separator, limit - 1) if limit > 0 else text.split(separator)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return list(islice(_found(text, pattern), None if limit < 0 else limit))


def _found(text: str, pattern: str) -> Iterator[str]:
    try:
        yield from go_regexp.find_all(pattern, text)
    except go_regexp.PatternError as error:
        raise CelError(str(error)) from error


def _is_sorted(values: Sequence[Any]) -> bool:
    return all(values[index] <= values[index + 1] for index in range(len(values) - 1))


def _extreme(pick: Function, name: str) -> Function:
    def function(values: Sequence[Any]) -> Any:
        if not values:
            raise CelError(f"{name} called on empty list")
        return pick(values)

    return function


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(equal(value, other) for other in found):
            found.append(value)
    return found


def _sum(values: Sequence[Any]) -> Any:
    return reduce(operator.add, values) if values else 0


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth == 0:
        return values
    return [
        entry
        for value in values
        for entry in (_flatten(value, depth - 1) if isinstance(value, list) else [value])
    ]


def _end(index: int) -> Function:
    return lambda values: Optional(present=True, value=values[index]) if values else NONE


def _with_entries(found: dict[Any, Any], *more: Any) -> dict[Any, Any]:
    """
    Return a copy of a map with entries added. more is a key and a value, or a map.

    Raises: CelError if a key already exists.
    """
    entries = more[0] if len(more) == 1 else {more[0]: more[1]}
    for key in entries:
        if key in found:
            raise CelError(f"insert failed: key {key} already exists")
    return {**found, **entries}


def _unwrapped(values: Sequence[Optional]) -> list[Any]:
    return [value.value for value in values if value.present]


def _contains(where: Any, what: Any) -> bool:
    if isinstance(where, str):
        return what in where
    raise CelError("no such overload")


def _is_subset(all_: Sequence[Any], some: Sequence[Any]) -> bool:
    return all(any(equal(value, other) for other in all_) for value in some)


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.value > right.value) - (left.value < right.value)


def _as_integer(quantity: Quantity) -> int:
    if quantity.value.denominator != 1:
        raise CelError("cannot convert value to integer")
    return int(quantity.value)


def _plus(sign: int) -> Function:
    def function(left: Quantity, right: Quantity | int) -> Quantity:
        amount = right.value if isinstance(right, Quantity) else right
        return Quantity(left.value + sign * amount)

    return function


def _optional_value(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _non_zero(value: Any) -> Optional:
    return Optional(present=True, value=value) if value else NONE


_SHOWN: Final[tuple[tuple[Any, Callable[[Any], str]], ...]] = (
    (bool, lambda value: "true" if value else "false"),
    (bytes, bytes.decode),
    (float, go_float),
    (type(None), lambda _value: "null"),
    (Type, lambda value: value.name),
    (list, lambda value: f"[{', '.join(map(_within, value))}]"),
    (dict, lambda value: f"{{{', '.join(sorted(f'{_within(k)}:{_within(v)}' for k, v in value.items()))}}}"),
    (datetime, lambda value: _without_zeros(go_time.written(value, micros=True).removesuffix("Z")) + "Z"),
    (timedelta, _seconds),
    ((Address, Network), lambda value: str(value.value)),
)
FUNCTIONS: Final[dict[str, Function]] = {
    "size": size,
    "matches": lambda text, pattern: next(_found(text, pattern), None) is not None,
    "int": _to_int,
    "uint": _to_uint,
    "bytes": lambda value: value.encode() if isinstance(value, str) else value,
    "double": _to_double,
    "string": _to_string,
    "bool": _to_bool,
    "dyn": lambda value: value,
    "type": type_of,
    "duration": _duration,
    "timestamp": _timestamp,
    "quantity": _to_quantity,
    "isQuantity": parses(parse_quantity),
    "sign": lambda a: (a.value > 0) - (a.value < 0),
    "lists.range": lambda count: list(range(count)),
    "optional.of": lambda value: Optional(present=True, value=value),
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _non_zero,
    "optional.unwrap": _unwrapped,
    "cel.@mapInsert": _with_entries,
    "sets.contains": _is_subset,
    "sets.equivalent": lambda a, b: _is_subset(a, b) and _is_subset(b, a),
    "sets.intersects": lambda a, b: any(equal(x, y) for x in a for y in b),
    **network.FUNCTIONS,
    **texts.FUNCTIONS,
}


def _of_no_value(*_: Any) -> Any:
    """Raise TypeError. Only an authorizer has this method, and no object contains an authorizer."""
    raise TypeError("no authorizer")


_OF_AUTHORIZERS: Final = (
    *("path", "group", "serviceAccount", "resource", "subresource", "namespace", "name"),
    *("fieldSelector", "labelSelector", "check", "errored", "error", "allowed", "reason"),
)
METHODS: Final[dict[str, Function]] = {
    **dict.fromkeys(_OF_AUTHORIZERS, _of_no_value),
    "size": size,
    "matches": lambda text, pattern: next(_found(text, pattern), None) is not None,
    "startsWith": lambda text, start: text.startswith(start),
    "endsWith": lambda text, end: text.endswith(end),
    "contains": _contains,
    "find": lambda text, pattern: next(_found(text, pattern), ""),
    "findAll": _find_all,
    "lowerAscii": lambda text: text.translate(_LOWER),
    "upperAscii": lambda text: text.translate(_UPPER),
    "trim": lambda text: text.strip(),
    "replace": _replace,
    "split": _split,
    "join": lambda values, separator="": separator.join(values),
    "substring": _substring,
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "reverse": lambda value: value[::-1],
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
    "distinct": _distinct,
    "sort": sorted,
    "@sortByAssociatedKeys": lambda values, keys: [
        values[index] for index in sorted(range(len(keys)), key=keys.__getitem__)
    ],
    "slice": _slice,
    "flatten": _flatten,
    "first": _end(0),
    "last": _end(-1),
    "unwrapOpt": _unwrapped,
    "format": lambda text, values: texts.printf(text, values, _to_string),
    "hasValue": lambda optional: optional.present,
    "value": _optional_value,
    "orValue": lambda optional, other: optional.value if optional.present else other,
    "or": lambda optional, other: optional if optional.present else other,
    "compareTo": _compare,
    "isGreaterThan": lambda a, b: a.value > b.value,
    "isLessThan": lambda a, b: a.value < b.value,
    "isInteger": lambda a: a.value.denominator == 1,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda a: float(a.value),
    "add": _plus(1),
    "sub": _plus(-1),
    **moments.METHODS,
    **network.METHODS,
    **texts.METHODS,
}
