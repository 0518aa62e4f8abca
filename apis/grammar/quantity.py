"""
Kubernetes quantities: `100m`, `1.5Gi`, `2e3`.

The server may rewrite a quantity in another spelling, so compare amounts, not texts.
Follows: apimachinery pkg/api/resource/quantity.go, kubernetes pkg/apis/core/v1/defaults.go (ResourceList).
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Annotated, Final, NamedTuple

from msgspec import Meta

PATTERN: Final = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?\Z"
"""The schema pattern for an amount: a quantity that is not negative."""

Amount = Annotated[str, Meta(max_length=64, pattern=PATTERN)]
"""The type of a field that holds an amount, such as 100m or 1.5Gi."""

FORMAT_ERROR: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)

_QUANTITY: Final = re.compile(
    r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?+[0-9]*+)"  # without backtracking: linear time
)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_LONGEST: Final = 1000
_NANO: Final = 10**9
_MILLI: Final = 10**3
_LARGEST_BINARY: Final = 2**63 - 1
_BEYOND_SUFFIXES: Final = 10**21
_SUFFIXES: Final = {
    "": Fraction(1),
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("num", start=-3)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


class QuantityError(ValueError):
    """A string is not a quantity. The message is Go's."""


class Quantity(NamedTuple):
    """An amount, and the suffix or exponent with which it was written ("" if it had neither)."""

    amount: Fraction
    suffix: str


def parse_quantity(text: str) -> Fraction:
    """
    Return the amount, rounded away from zero to nine decimals. With a binary suffix, it is at most 2**63 - 1.

    Raises: QuantityError if the text is not a quantity, is longer than 1000 characters, or has an exponent
    beyond 1000.
    """
    return read_quantity(text).amount


@lru_cache(maxsize=1024)
def read_quantity(text: str) -> Quantity:
    """Return the amount, as parse_quantity() does, with its suffix. Raises: the same QuantityError."""
    match = _QUANTITY.fullmatch(text)
    if match is None or not 0 < len(text) <= _LONGEST:
        raise QuantityError(FORMAT_ERROR)
    sign, whole, decimals, suffix = match.groups(default="")
    digits = whole + decimals
    scale = _scale(suffix)
    if not digits and (suffix in {"Pi", "Ei"} or scale < Fraction(1, _NANO)):
        raise QuantityError(
            "unable to parse numeric part of quantity"
        )  # Go would read a missing number as 0 here
    amount = _rounded_up(Fraction(int(digits or "0"), 10 ** len(decimals)) * scale, _NANO)
    if suffix.endswith("i"):
        amount = min(amount, Fraction(_LARGEST_BINARY))
    return Quantity(-amount if sign == "-" else amount, suffix)


def _scale(suffix: str) -> Fraction:
    known = _SUFFIXES.get(suffix)
    exponent = _EXPONENT.fullmatch(suffix)
    if known is not None:
        return known
    if exponent is None:
        raise QuantityError("unable to parse quantity's suffix")
    if abs(int(exponent[1])) > _LONGEST:
        raise QuantityError(FORMAT_ERROR)  # Go would compute for minutes
    return Fraction(10) ** int(exponent[1])


def same_quantity(one: str, other: str) -> bool:
    """
    Return whether the server stores the same resource amount for both texts.

    A string that is not a quantity, such as "", equals only itself.
    """
    if one == other:
        return True
    try:
        return _kept(one) == _kept(other)
    except ValueError:
        return False


def _kept(text: str) -> Fraction:
    """
    Return the amount as the server stores it in a list of resources, rounded up to a thousandth.

    The server has no suffix for a multiple of 10^21. It loses the zeros of such an amount: 1000E becomes 1.
    """
    amount = _rounded_up(parse_quantity(text), _MILLI)
    has_exponent = re.search(r"[eE][+-]?[0-9]", text) is not None
    if amount and amount % _BEYOND_SUFFIXES == 0 and not has_exponent:
        while amount % _MILLI == 0:
            amount /= _MILLI
    return amount


def _rounded_up(amount: Fraction, parts: int) -> Fraction:
    return Fraction(ceil(amount * parts), parts)
