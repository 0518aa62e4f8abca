"""Encodes the fields of protobuf messages: a tag with the field number and wire type, then the value."""

from __future__ import annotations

import struct
from typing import Final

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_SEVEN_BITS: Final = 0x7F


def text(number: int, value: str) -> bytes:
    """Encode a string field. An empty string is also written."""
    return content(number, value.encode())


def content(number: int, value: bytes) -> bytes:
    """Encode a field that contains bytes or a nested message."""
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def whole(number: int, value: int) -> bytes:
    """Encode a field that contains a nonnegative integer or a boolean."""
    return _varint(number << 3 | _VARINT) + _varint(value)


def double(number: int, value: float) -> bytes:
    """Return a field with a double."""
    return _varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def _varint(value: int) -> bytes:
    done = bytearray()
    while value > _SEVEN_BITS:
        done.append(value & _SEVEN_BITS | _SEVEN_BITS + 1)
        value >>= 7
    return bytes((*done, value))
