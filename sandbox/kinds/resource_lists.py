"""
Lists of resources (limits, requests, capacity): their amounts are rounded up to a thousandth.

Follows: kubernetes pkg/apis/core/v1/defaults.go SetDefaults_ResourceList.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from handloop.sandbox.wire import quantity

_FINE: Final = re.compile(r"(-?)([0-9]+)(u|n|e-6|e-9)")
_PARTS: Final = {"u": (10**3, "m"), "n": (10**6, "m"), "e-6": (10**3, "e-3"), "e-9": (10**6, "e-3")}


def rounded(amounts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The amounts, given in canonical form; the very same mapping when none is finer than a thousandth."""
    changed = {name: _rounded(text) for name, text in amounts.items() if _FINE.fullmatch(text)}
    return {**amounts, **changed} if changed else amounts


def _rounded(text: str) -> str:
    found = _FINE.fullmatch(text)
    assert found is not None
    sign, digits, suffix = found.groups()
    parts, milli = _PARTS[suffix]
    return quantity.canonical(f"{sign}{-(-int(digits) // parts)}{milli}")
