"""
Go's zero values for missing fields: "", 0, false, an empty list or object.

Conversions need them, because a server may ask to convert an object without its required fields. During an
apply, the server removes the fields that the applier no longer sends. It then converts the remaining fields
to every version in which a manager owns fields (structured-merge-diff, merge/update.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ZEROS: Final[Mapping[str, Any]] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}


def completed(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a copy of a value, with a zero value for each missing required field."""
    if isinstance(value, dict):
        parts: Mapping[str, Any] = schema.get("properties") or {}
        others: Mapping[str, Any] = schema.get("additionalProperties") or {}
        present = {name: completed(each, parts.get(name, others)) for name, each in value.items()}
        return {name: _zero(parts.get(name, {})) for name in schema.get("required", ())} | present
    if isinstance(value, list):
        items = schema.get("items", {})
        return [completed(each, items) for each in value]
    return value


def _zero(schema: Mapping[str, Any]) -> Any:
    if schema.get("x-kubernetes-int-or-string"):
        return 0
    kind = schema.get("type", "object")
    return completed({}, schema) if kind == "object" else _ZEROS[kind]
