"""
The functions of CEL and of Kubernetes' libraries for it.

Follows: CEL standard definitions; apiserver pkg/cel/library (lists, regex, quantity), cel-go ext/strings.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from handloop.apis.quantity import QuantityError, parse_quantity
from handloop_sandbox.custom import go_regexp
from handloop_sandbox.custom.cel_values import (
    NONE,
    CelError,
    Optional,
    Quantity,
    checked_int,
    equal,
    parse_duration,
    parse_timestamp,
    type_of,
)
from handloop_sandbox.wire import go_time

Function = Callable[..., Any]


def size(value: Any) -> int:
    """The number of characters, elements or entries."""
    if not isinstance(value, (str, list, dict, bytes)):
        raise CelError("no such overload: size")
    return len(value)


def _to_int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    try:
        return checked_int(int(value))
    except (TypeError, ValueError) as error:
        raise CelError(f"type conversion error from {type_of(value).name} to int") from error


def _to_double(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise CelError(f"type conversion error from {type_of(value).name} to double") from error


def _to_string(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case datetime():
            return go_time.written(value)
        case timedelta():
            return f"{value.total_seconds():g}s"
    return str(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "True", "TRUE", "t", "1"):
        return True
    if value in ("false", "False", "FALSE", "f", "0"):
        return False
    raise CelError("type conversion error from string to bool")


def _to_quantity(text: str) -> Quantity:
    try:
        return Quantity(parse_quantity(text))
    except QuantityError as error:
        raise CelError(str(error)) from error


def _cidr(text: str) -> object:
    if "/" not in text:
        raise ValueError(text)
    return ipaddress.ip_interface(text)


def _parses(parse: Callable[[str], Any]) -> Function:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, CelError):
            return False
        return True

    return check


def _duration(value: Any) -> timedelta:
    return value if isinstance(value, timedelta) else parse_duration(value)


def _timestamp(value: Any) -> datetime:
    return value if isinstance(value, datetime) else parse_timestamp(value)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise CelError(f"index out of range: {start}")
    return text[start:stop]


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(where: str | list[Any], what: Any, start: int = 0) -> int:
    if isinstance(where, str):
        return where.find(what, start)
    return next((index for index, entry in enumerate(where) if equal(entry, what)), -1)


def _last_index_of(where: str | list[Any], what: Any) -> int:
    if isinstance(where, str):
        return where.rfind(what)
    return next((index for index in reversed(range(len(where))) if equal(where[index], what)), -1)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text)
    return text.split(separator, limit - 1) if limit > 0 else text.split(separator)


def _matches(text: str, pattern: str) -> bool:
    return next(_found(text, pattern), None) is not None


def _find(text: str, pattern: str) -> str:
    return next(_found(text, pattern), "")


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


def _contains(where: Any, what: Any) -> bool:
    if isinstance(where, str):
        return what in where
    raise CelError("no such overload: contains")


def _is_subset(all_: Sequence[Any], some: Sequence[Any]) -> bool:
    return all(any(equal(value, other) for other in all_) for value in some)


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.value > right.value) - (left.value < right.value)


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


def _moment(pick: Callable[[datetime], int]) -> Function:
    def function(moment: datetime) -> int:
        return pick(moment)

    return function


def _span(seconds: float) -> Function:
    def function(value: datetime | timedelta) -> int:
        if isinstance(value, timedelta):
            return int(value.total_seconds() / seconds)
        return {3600: value.hour, 60: value.minute, 1: value.second}.get(
            int(seconds), value.microsecond // 1000
        )

    return function


FUNCTIONS: Final[dict[str, Function]] = {
    "size": size,
    "matches": _matches,
    "int": _to_int,
    "uint": _to_int,
    "double": _to_double,
    "string": _to_string,
    "bool": _to_bool,
    "dyn": lambda value: value,
    "type": type_of,
    "duration": _duration,
    "timestamp": _timestamp,
    "quantity": _to_quantity,
    "isQuantity": _parses(parse_quantity),
    "isIP": _parses(ipaddress.ip_address),
    "isCIDR": _parses(_cidr),
    "optional.of": lambda value: Optional(present=True, value=value),
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _non_zero,
    "sets.contains": _is_subset,
    "sets.equivalent": lambda a, b: _is_subset(a, b) and _is_subset(b, a),
    "sets.intersects": lambda a, b: any(equal(x, y) for x in a for y in b),
}

METHODS: Final[dict[str, Function]] = {
    "size": size,
    "matches": _matches,
    "startsWith": lambda text, start: text.startswith(start),
    "endsWith": lambda text, end: text.endswith(end),
    "contains": _contains,
    "find": _find,
    "findAll": _find_all,
    "lowerAscii": lambda text: text.lower(),
    "upperAscii": lambda text: text.upper(),
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
    "sum": sum,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
    "distinct": _distinct,
    "sort": sorted,
    "slice": lambda values, start, end: values[start:end],
    "flatten": lambda values: [
        entry for value in values for entry in (value if isinstance(value, list) else [value])
    ],
    "hasValue": lambda optional: optional.present,
    "value": _optional_value,
    "orValue": lambda optional, other: optional.value if optional.present else other,
    "or": lambda optional, other: optional if optional.present else other,
    "compareTo": _compare,
    "isGreaterThan": lambda a, b: a.value > b.value,
    "isLessThan": lambda a, b: a.value < b.value,
    "isInteger": lambda a: a.value.denominator == 1,
    "asInteger": lambda a: int(a.value),
    "asApproximateFloat": lambda a: float(a.value),
    "sign": lambda a: (a.value > 0) - (a.value < 0),
    "add": _plus(1),
    "sub": _plus(-1),
    "getFullYear": _moment(lambda moment: moment.year),
    "getMonth": _moment(lambda moment: moment.month - 1),
    "getDate": _moment(lambda moment: moment.day),
    "getDayOfMonth": _moment(lambda moment: moment.day - 1),
    "getDayOfWeek": _moment(lambda moment: (moment.weekday() + 1) % 7),
    "getDayOfYear": _moment(lambda moment: moment.timetuple().tm_yday - 1),
    "getHours": _span(3600),
    "getMinutes": _span(60),
    "getSeconds": _span(1),
    "getMilliseconds": _span(0.001),
}
