"""Formats values as Go's `%v` prints them in messages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def go_value(value: Any) -> str:
    """Return decoded JSON as Go's fmt prints it, with sorted keys: `map[a:1 b:[x y]]`, `<nil>`, `true`."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_value(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_value(entry) for entry in value) + "]"
    return go_float(value) if isinstance(value, float) else str(value)


def go_float(value: float) -> str:
    """Return a float64 as Go's `%v` prints it: `1.5`, `2`, `1e+06`, `1e-07`."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        return {"F": "-Inf" if sign else "+Inf"}.get(exponent, "NaN")
    scientific = len(digits) + exponent - 1
    if _LEAST_PLAIN <= scientific <= _MOST_PLAIN:
        return f"{value:.{max(-exponent, 0)}f}"
    text = "".join(map(str, digits))
    mantissa = f"{text[0]}.{text[1:]}" if len(text) > 1 else text
    return f"{'-' if sign else ''}{mantissa}e{'-' if scientific < 0 else '+'}{abs(scientific):02d}"


# As in strconv.FormatFloat(x, 'g', -1), numbers with exponents outside this range are printed in scientific
# notation.
_LEAST_PLAIN, _MOST_PLAIN = -4, 5


def go_type(value: Any) -> str:
    """Return the Go type of a decoded JSON value: `map[string]interface {}`, `string`, ..."""
    kinds = {
        dict: "map[string]interface {}",
        list: "[]interface {}",
        str: "string",
        bool: "bool",
        int: "int64",
        float: "float64",
    }
    return kinds.get(type(value), "%!s(<nil>)")


_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def escaped(json_text: str) -> str:
    """Return JSON with `<`, `>` and `&` escaped, as Go's encoder writes it."""
    return json_text.translate(_HTML)
