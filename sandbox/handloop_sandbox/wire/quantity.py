"""
Resource quantities (`100m`, `1Gi`, `0.5`) in the server's canonical form.

Follows: apimachinery pkg/api/resource quantity.go.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, NamedTuple

from handloop_sandbox.grammar.quantity import read_quantity

_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_KIBI: Final = 1024
_STEP: Final = 3
_ODD_BITS: Final = 0x07


def canonical(value: str | float) -> str:
    """Return a quantity in the server's canonical form. Raises: QuantityError if it is not valid."""
    amount, suffix = read_quantity(str(value))
    if suffix in _BINARY and amount.denominator == 1 and (amount == 0 or abs(amount) >= _KIBI):
        return _binary(int(amount))
    mantissa, exponent = _mantissa(amount)
    if suffix in _DECIMAL or suffix in _BINARY:
        return f"{mantissa}{_SUFFIX_OF.get(exponent, '')}"  # Kubernetes has no suffix above E
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _binary(number: int) -> str:
    for suffix, power in reversed(_BINARY.items()):
        if number and number % _KIBI**power == 0:
            return f"{number // _KIBI**power}{suffix}"
    return str(number)


def _mantissa(amount: Fraction) -> tuple[int, int]:
    """Return the shortest mantissa of an amount, and its exponent of ten, which is a multiple of three."""
    if amount == 0:
        return 0, 0
    exponent = -9
    scaled = int(amount * 10**9)
    while scaled % 10**_STEP == 0:
        scaled //= 10**_STEP
        exponent += _STEP
    return scaled, exponent


class Int64Amount(NamedTuple):
    """A quantity as Go stores it in an int64. text is the form that Go caches, or "" if it caches none."""

    value: int
    scale: int
    format: str
    text: str


def int64_amount(text: str) -> Int64Amount:
    """
    Return a canonical quantity in Go's int64 form, which suffices for nearly all quantities.

    Raises: QuantityError if the text is not a quantity.
    """
    if text == "0":
        return Int64Amount(0, 0, "DecimalSI", text)
    _, suffix = read_quantity(text)
    number = int(text.removesuffix(suffix))
    if suffix in _BINARY:
        return Int64Amount(number << 10 * _BINARY[suffix], 0, "BinarySI", text if number & _ODD_BITS else "")
    is_plain = suffix in _DECIMAL
    scale = _DECIMAL[suffix] if is_plain else int(suffix[1:])
    kept = text if scale % _STEP == 0 and number % 10**_STEP else ""
    return Int64Amount(number, scale, "DecimalSI" if is_plain else "DecimalExponent", kept)
