"""
Kubernetes quantities: `100m`, `1.5Gi`, `2e3`. The server stores them in its own spelling, so compare amounts.

Follows: apimachinery pkg/api/resource/quantity.go, kubernetes pkg/apis/core/v1/defaults.go (ResourceList).
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

PATTERN: Final = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$"
"""What the schema asks of an amount, which cannot be negative."""

_QUANTITY: Final = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([a-zA-Z]{1,2})|[eE]([+-]?[0-9]{1,3}))?")
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


@lru_cache(maxsize=1024)
def parse_quantity(text: str) -> Fraction:
    """
    The amount, rounded up to a billionth; with a binary suffix it ends where an int64 does.

    Raises: ValueError.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or (match[3] or "") not in _SUFFIXES:
        raise ValueError(f"not a quantity: {text!r}")
    sign, number, suffix, exponent = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    amount = _rounded_up(Fraction(number) * scale, _NANO)
    if (suffix or "").endswith("i"):
        amount = min(amount, Fraction(_LARGEST_BINARY))
    return -amount if sign == "-" else amount


def same_quantity(one: str, other: str) -> bool:
    """
    Whether two texts mean the same amount of a resource as the server keeps it.

    "" is no amount; what is no quantity is like itself only.
    """
    if one == other:
        return True
    try:
        return _kept(one) == _kept(other)
    except ValueError:
        return False


def _kept(text: str) -> Fraction:
    """
    The amount in a list of resources: rounded up to a thousandth.

    The server has no suffix for a multiple of 10^21 and writes it without its zeros: 1000E becomes 1.
    """
    amount = _rounded_up(parse_quantity(text), _MILLI)
    has_exponent = re.search(r"[eE][+-]?[0-9]", text) is not None
    if amount and amount % _BEYOND_SUFFIXES == 0 and not has_exponent:
        while amount % _MILLI == 0:
            amount /= _MILLI
    return amount


def _rounded_up(amount: Fraction, parts: int) -> Fraction:
    return Fraction(ceil(amount * parts), parts)
