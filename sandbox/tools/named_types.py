"""Adds the names of Go types to schemas, for strings, numbers, lists and maps of a named type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_MAP: Final = re.compile(r"map\[([\w.]+)\](.+)")
_ALIASES: Final = {"metav1": "v1", "corev1": "v1", "rbacv1": "v1"}
"""Maps the names under which Go files import packages to the packages' own names."""
_BUILT_IN: Final = re.compile(r"[a-z]\w*")
_ELSEWHERE: Final = {"types.UID": "string", "types.NodeName": "string"}
"""The underlying types of named types in packages without API types."""


class NamedTypes:
    """
    The underlying types of named types, with each name in the form that Go prints.

    For example, `v1.ResourceList` is `map[v1.ResourceName]resource.Quantity`.
    """

    def __init__(self, behind: Mapping[str, str]) -> None:
        """Args: behind maps the full names of named types to their underlying types."""
        self._behind = {
            _printed(name.rpartition(".")[2], name): _printed(there, name) for name, there in behind.items()
        } | _ELSEWHERE

    def mark(self, schema: dict[str, Any], go_type: str, owner: str) -> None:
        """Add `x-go` to a schema, and to its entries' schemas, if Go's type has a name of its own."""
        self._mark(schema, _printed(go_type, owner).removeprefix("*"))

    def _mark(self, schema: dict[str, Any], go_type: str) -> None:
        behind = self._behind.get(go_type)
        key = matched[1] if (matched := _MAP.fullmatch(behind or go_type)) else ""
        if behind is not None or key not in {"", "string"}:
            schema["x-go"] = go_type
        if matched and isinstance(schema.get("additionalProperties"), dict):
            self._mark(schema["additionalProperties"], matched[2].removeprefix("*"))
        elif isinstance(schema.get("items"), dict):
            self._mark(schema["items"], (behind or go_type).removeprefix("[]").removeprefix("*"))


def _printed(go_type: str, owner: str) -> str:
    """Return a type as Go prints it. Args: owner is a type in the package that refers to it."""
    for prefix in ("*", "[]"):
        if go_type.startswith(prefix):
            return prefix + _printed(go_type.removeprefix(prefix), owner)
    if matched := _MAP.fullmatch(go_type):
        return f"map[{_printed(matched[1], owner)}]{_printed(matched[2], owner)}"
    package, dot, name = go_type.rpartition(".")
    if dot:
        return f"{_ALIASES.get(package, package)}.{name}"
    return go_type if _BUILT_IN.fullmatch(go_type) else f"{owner.split('.')[-2]}.{go_type}"
