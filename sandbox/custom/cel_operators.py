"""
The operators of CEL on Python's values.

Follows: the CEL language definition: no conversion between types, integers of 64 bits, division towards zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Any, Final

from handloop.sandbox.custom.cel_values import CelError, checked_int, equal


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
    total = left + right
    return checked_int(total) if isinstance(total, int) else total


def _subtract(left: Any, right: Any) -> Any:
    timed = isinstance(left, (datetime, timedelta)) and isinstance(right, (datetime, timedelta))
    if not (timed or (_is_number(left) and type(left) is type(right))):
        raise CelError("no such overload")
    rest = left - right
    return checked_int(rest) if isinstance(rest, int) else rest


def _multiply(left: Any, right: Any) -> Any:
    _check_numbers(left, right)
    product = left * right
    return checked_int(product) if isinstance(product, int) else product


def _divide(left: Any, right: Any) -> Any:
    _check_numbers(left, right)
    if isinstance(left, float):
        if right == 0:
            return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
        return left / right
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def _remainder(left: Any, right: Any) -> Any:
    _check_numbers(left, right)
    if isinstance(left, float):
        raise CelError("no such overload")
    if right == 0:
        raise CelError("modulus by zero")
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


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
