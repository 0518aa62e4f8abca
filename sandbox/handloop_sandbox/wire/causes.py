"""
Validation errors of single fields, with the messages of Go's `field.Invalid` and similar functions.

Follows: apimachinery pkg/util/validation/field/errors.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from handloop_sandbox.wire.status import Cause

_ESCAPED: Final = '"\\\a\b\f\n\r\t\v'
_ESCAPES: Final = {ord(char): f"\\{letter}" for char, letter in zip(_ESCAPED, '"\\abfnrtv', strict=True)}
_ASCII_END: Final = 0x80
_BASIC_END: Final = 0xFFFF


def shown(value: Any) -> str:
    """Return a value as Go messages show it: with `%q` or `%v`, or as JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return "true" if value is True else "false" if value is False else str(value)


def quoted(text: str) -> str:
    """Return a string as Go's `%q` prints it."""
    return f'"{text.translate(_ESCAPES) if text.isprintable() else "".join(map(_shown_character, text))}"'


def _shown_character(char: str) -> str:
    code = ord(char)
    if char.isprintable() or char in _ESCAPED:
        return char.translate(_ESCAPES)
    if code < _ASCII_END:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _BASIC_END else f"\\U{code:08x}"


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    """Return the error for a value that breaks a rule."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def invalid_type(field: str, value: Any, detail: str) -> Cause:
    """Return the error for a value of the wrong type."""
    return Cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def required(field: str, detail: str = "") -> Cause:
    """Return the error for a missing value."""
    return Cause("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", field)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """Return the error for a value that is not one of the supported values."""
    values = ", ".join(quoted(entry) for entry in supported)
    return Cause(
        "FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {values}", field
    )


def duplicate(field: str, value: Any) -> Cause:
    """Return the error for a value that occurs twice."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def forbidden_field(field: str, detail: str) -> Cause:
    """Return the error for a field that must not be set."""
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def too_long(field: str, limit: int) -> Cause:
    """Return the error for a string longer than limit bytes."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {_counted(limit, 'byte')}", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """Return the error for a list or map with more entries than limit."""
    return Cause(
        "FieldValueTooMany", f"Too many: {actual}: must have at most {_counted(limit, 'item')}", field
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
