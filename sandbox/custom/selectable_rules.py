"""
The fields of a custom resource that its definition lets clients select by.

Follows: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceSelectableFields).
"""

from __future__ import annotations

from typing import Any, Final

from handloop.sandbox.wire.causes import duplicate, invalid_value, required, too_many
from handloop.sandbox.wire.field_rules import Object, entries, part
from handloop.sandbox.wire.status import Cause

_MOST: Final = 8
_SCALARS: Final = ("boolean", "integer", "string")
_NO_SCALAR: Final = (
    "must point to a field of type string, boolean or integer. "
    "Enum string fields and strings with formats are allowed."
)


def selectable_causes(path: str, version: Object) -> list[Cause]:
    """Everything wrong with the selectable fields of a version."""
    fields = [entry.get("jsonPath", "") for entry in entries(version, "selectableFields")]
    schema = part(version, "schema").get("openAPIV3Schema")
    causes = [too_many(path, len(fields), _MOST)] if len(fields) > _MOST else []
    for index, text in enumerate(fields):
        causes += _field(f"{path}[{index}].jsonPath", text, schema)
        if text and text in fields[:index]:
            causes.append(duplicate(f"{path}[{index}].jsonPath", text))
    return causes


def _field(path: str, text: str, schema: Any) -> list[Cause]:
    if not text:
        return [required(path)]
    if not text.startswith("."):
        return [invalid_value(path, text, f"is an invalid path: expected [ or . but got: {text}")]
    if "[" in text:
        return [invalid_value(path, text, "is an invalid path: array notation is not allowed")]
    for name in text[1:].split("."):
        schema = part(schema, "properties").get(name) if isinstance(schema, dict) else None
    if schema is None:
        return [invalid_value(path, text, "is an invalid path: does not refer to a valid field")]
    return [] if schema.get("type") in _SCALARS else [invalid_value(path, text, _NO_SCALAR)]
