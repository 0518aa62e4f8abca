"""Values as Go's `%v` prints them, for the messages that carry one."""

from __future__ import annotations

from typing import Any


def go_value(value: Any) -> str:
    """`map[a:1 b:[x y]]`, `<nil>`, `true`: decoded JSON as fmt prints it, keys sorted."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_value(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_value(entry) for entry in value) + "]"
    return str(value)


def go_type(value: Any) -> str:
    """The Go type that decoded JSON has: `map[string]interface {}`, `string`, ..."""
    kinds = {
        dict: "map[string]interface {}",
        list: "[]interface {}",
        str: "string",
        bool: "bool",
        int: "int64",
        float: "float64",
    }
    return kinds.get(type(value), "%!s(<nil>)")
