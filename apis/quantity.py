"""
Kubernetes quantities: `100m`, `1.5Gi`, `2e3`. The server stores them in its own spelling, so compare amounts.

Follows: apimachinery pkg/api/resource/quantity.go, differs: no upper limit.
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
_SUFFIXES: Final = {
    "": Fraction(1),
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("num", start=-3)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


@lru_cache(maxsize=1024)
def parse_quantity(text: str) -> Fraction:
    """
    The amount, rounded up to a billionth.

    Raises: ValueError.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or (match[3] or "") not in _SUFFIXES:
        raise ValueError(f"not a quantity: {text!r}")
    sign, number, suffix, exponent = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    amount = Fraction(ceil(Fraction(number) * scale * _NANO), _NANO)
    return -amount if sign == "-" else amount


def same_quantity(one: str, other: str) -> bool:
    """Whether two texts mean the same amount; "" is no amount; what is no quantity is like itself only."""
    if one == other:
        return True
    try:
        return parse_quantity(one) == parse_quantity(other)
    except ValueError:
        return False
