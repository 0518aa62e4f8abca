"""
Resource quantities (`100m`, `1Gi`, `0.5`): parsed, compared, and written in the server's canonical form.

Follows: apimachinery pkg/api/resource quantity.go.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from typing import Final, NamedTuple

_PATTERN: Final = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(.*)$", re.DOTALL)
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_EXPONENT: Final = re.compile(r"[eE][+-]?\d+")
_KIBI: Final = 1024
_NANO: Final = Decimal("1e-9")
_STEP: Final = 3
_LARGEST_EXPONENT: Final = 1000
_LONGEST: Final = 1000
_ODD_BITS: Final = 0x07
_LARGEST_BINARY: Final = 2**63 - 1
_EXACT: Final = Context(prec=4 * _LONGEST)
"""Holds every digit of the longest number with the largest exponent."""

FORMAT_ERROR: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class QuantityError(ValueError):
    """A text is no quantity; the message is Go's."""


def parse(text: str) -> Decimal:
    """The number a quantity stands for. Raises: QuantityError."""
    number, suffix = _split(text)
    if suffix in _BINARY:
        return _capped(_EXACT.multiply(number, Decimal(_KIBI ** _BINARY[suffix])))
    return _EXACT.scaleb(number, _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))


def canonical(value: str | float) -> str:
    """A quantity as the server writes it back. Raises: QuantityError."""
    text = str(value)
    _, suffix = _split(text)
    number = _rounded_up(parse(text))
    if suffix in _BINARY and (number == 0 or abs(number) >= _KIBI) and number == number.to_integral_value():
        return _binary(int(number))
    if _EXPONENT.fullmatch(suffix):
        return _exponential(number)
    return _decimal(number)


def _split(text: str) -> tuple[Decimal, str]:
    found = _PATTERN.match(text)
    if found is None:
        raise QuantityError(FORMAT_ERROR)
    number, suffix = found.groups()
    if len(text) > _LONGEST or (_EXPONENT.fullmatch(suffix) and abs(int(suffix[1:])) > _LARGEST_EXPONENT):
        raise QuantityError(FORMAT_ERROR)  # Go would be busy with it for minutes
    if suffix not in _BINARY and suffix not in _DECIMAL and not _EXPONENT.fullmatch(suffix):
        known = re.fullmatch(r"[eEinumkKMGTP]*[-+]?[0-9]*", suffix)
        raise QuantityError(
            "unable to parse quantity's suffix" if known and not number.endswith(".") else FORMAT_ERROR
        )
    return Decimal(number), suffix


def _capped(number: Decimal) -> Decimal:
    """Quantities with a binary suffix end where an int64 does, on both sides."""
    return number if number.copy_abs() <= _LARGEST_BINARY else Decimal(_LARGEST_BINARY).copy_sign(number)


def _rounded_up(number: Decimal) -> Decimal:
    whole = _EXACT.remainder(number, _NANO) == 0
    return number if whole else number.quantize(_NANO, rounding=ROUND_UP, context=_EXACT)


def _binary(number: int) -> str:
    for suffix, power in reversed(_BINARY.items()):
        if number and number % _KIBI**power == 0:
            return f"{number // _KIBI**power}{suffix}"
    return str(number)


def _decimal(number: Decimal) -> str:
    mantissa, exponent = _mantissa(number)
    return f"{mantissa}{_SUFFIX_OF.get(exponent, '')}"  # beyond E the server leaves the suffix out


def _exponential(number: Decimal) -> str:
    mantissa, exponent = _mantissa(number)
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _mantissa(number: Decimal) -> tuple[int, int]:
    """The shortest whole number and the multiple of three that it is scaled by."""
    if number == 0:
        return 0, 0
    exponent = -9
    scaled = int(_EXACT.scaleb(number, -exponent))
    while scaled % 10**_STEP == 0:
        scaled //= 10**_STEP
        exponent += _STEP
    return scaled, exponent


class Int64Amount(NamedTuple):
    """A quantity as Go keeps it in an int64; text is what Go remembers of its spelling, "" for nothing."""

    value: int
    scale: int
    format: str
    text: str


def int64_amount(text: str) -> Int64Amount:
    """
    A canonical quantity the way Go parses it when an int64 is enough, which is nearly always.

    Raises: QuantityError.
    """
    if text == "0":
        return Int64Amount(0, 0, "DecimalSI", text)
    number, suffix = _split(text)
    _, digits, exponent = number.as_tuple()
    places = -int(exponent)
    shifted = int(_EXACT.scaleb(number, places))
    if suffix in _BINARY:
        power = 10 * _BINARY[suffix]
        kept = text if shifted & _ODD_BITS else ""
        return Int64Amount(shifted << power, -places, "BinarySI", kept)
    plain = suffix in _DECIMAL
    scale = (_DECIMAL[suffix] if plain else int(suffix[1:])) - places
    short = scale % _STEP == 0 and digits[-_STEP:] != (0,) * _STEP and digits[0] != 0
    return Int64Amount(shifted, scale, "DecimalSI" if plain else "DecimalExponent", text if short else "")
