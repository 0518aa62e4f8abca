r"""
A refusal as `application/vnd.kubernetes.protobuf`, for clients that accept nothing else.

An envelope is `k8s\0` and a runtime.Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: raw, 3: encoding,
4: type}. Texts are written even when they are empty, as generated Go code does. Follows: apimachinery
pkg/apis/meta/v1/generated.proto.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MAGIC: Final = b"k8s\0"
_VARINT, _BYTES = 0, 2
_SEVEN_BITS: Final = 0x7F


def encode(status: Mapping[str, Any]) -> bytes:
    """The bytes of a Status."""
    kind = _text(1, status["apiVersion"]) + _text(2, status["kind"])
    return _MAGIC + _bytes(1, kind) + _bytes(2, _status(status)) + _text(3, "") + _text(4, "")


def _status(status: Mapping[str, Any]) -> bytes:
    metadata = status.get("metadata") or {}
    listing = _text(1, "") + _text(2, "") + _text(3, metadata.get("continue", ""))
    texts = (_text(2, status["status"]), _text(3, status["message"]), _text(4, status.get("reason", "")))
    details = status.get("details")
    about = b"" if details is None else _bytes(5, _details(details))
    return b"".join((_bytes(1, listing), *texts, about, _number(6, status["code"])))


def _details(details: Mapping[str, Any]) -> bytes:
    names = (_text(number, details.get(key, "")) for number, key in ((1, "name"), (2, "group"), (3, "kind")))
    causes = (_bytes(4, _cause(cause)) for cause in details.get("causes") or ())
    delay = _number(5, details.get("retryAfterSeconds", 0))
    return b"".join((*names, *causes, delay, _text(6, details.get("uid", ""))))


def _cause(cause: Mapping[str, str]) -> bytes:
    keys = ((1, "reason"), (2, "message"), (3, "field"))
    return b"".join(_text(number, cause.get(key, "")) for number, key in keys)


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    done = bytearray()
    while value > _SEVEN_BITS:
        done.append(value & _SEVEN_BITS | _SEVEN_BITS + 1)
        value >>= 7
    return bytes((*done, value))
