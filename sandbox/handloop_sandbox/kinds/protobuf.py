r"""
Decodes bodies in `application/vnd.kubernetes.protobuf` to JSON-like objects.

An envelope is `k8s\0` and a runtime.Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: raw}. messages.json
contains the field numbers. Zero values are kept. Those that the kind's JSON omits are dropped later, when the
object is decoded by kind. For the encoding of errors, see wire.status.
Follows: apimachinery pkg/runtime/serializer/protobuf, pkg/apis/meta/v1/time_proto.go, the generated.proto
files.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

from handloop_sandbox.grammar.times import format_micro_time, format_time
from handloop_sandbox.kinds import typed
from handloop_sandbox.kinds.kind_table import MessageField, message, named_schema
from handloop_sandbox.kinds.structure import named
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.status import StatusError, bad_request, failure

MAGIC = b"k8s\0"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
HINT = "this sandbox stores JSON; pipe --dry-run=client -o yaml | kubectl apply -f -"

_META = "apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIGN_BIT, _WORD = 1 << 63, 1 << 64
_LONGEST_VARINT = 10


class _MalformedError(ValueError):
    """The bytes are not protobuf, or end inside a field. The message is the same as in Go, if Go has one."""


def decode(body: bytes, catalog: Catalog) -> dict[str, Any]:
    """
    Return the object in a body, with its kind and apiVersion.

    Raises: StatusError, with code 400 if the bytes are not an envelope, or 415 if the kind's messages are
    unknown.
    """
    if not body.startswith(MAGIC):
        raise bad_request(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    try:
        api_version, kind, raw = _envelope(body[len(MAGIC) :])
        name = _message_name(api_version, kind, catalog)
        found = _message(raw, name)
    except (ValueError, OverflowError, struct.error) as error:  # bad protobuf, UTF-8, JSON, time or double
        raise bad_request(f"unable to decode protobuf: {error}") from error
    return {"kind": kind, "apiVersion": api_version, **found}


def decode_delete_options(body: bytes) -> dict[str, Any]:
    """
    Return the DeleteOptions in a body, or {} if the body is empty.

    Raises: StatusError 400 if the bytes are not an envelope.
    """
    if not body:
        return {}
    if not body.startswith(MAGIC):
        raise bad_request(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    try:
        return read_message(body, f"{_META}.DeleteOptions")
    except (ValueError, OverflowError, struct.error) as error:  # bad protobuf, UTF-8, JSON, time or double
        raise bad_request(f"unable to decode protobuf: {error}") from error


def read_message(body: bytes, name: str) -> dict[str, Any]:
    """
    Return the message of a known type in an envelope.

    Raises: ValueError if the bytes are not an envelope with a valid message.
    """
    _, _, raw = _envelope(body[len(MAGIC) :])
    found: dict[str, Any] = _message(raw, name)
    return found


def _envelope(data: bytes) -> tuple[str, str, bytes]:
    """apiVersion, kind and the object's bytes."""
    texts = {1: "", 2: ""}
    raw = b""
    for number, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            texts |= {
                key: part.decode() for key, part in _fields(value) if isinstance(part, bytes) and key in texts
            }
        elif number == 2 and isinstance(value, bytes):  # noqa: PLR2004  runtime.Unknown.raw
            raw = value
    return texts[1], texts[2], raw


def _message_name(api_version: str, kind: str, catalog: Catalog) -> str:
    group, _, version = api_version.rpartition("/")
    served = catalog.by_kind(group, version, kind)
    if served is not None and served.custom:
        raise _unsupported()
    if served is not None and served.schema is not None:
        return str(served.schema["$ref"])
    for name in (f"api.{group.partition('.')[0] or 'core'}.{version}.{kind}", f"{_META}.{kind}"):
        if message(name) is not None:
            return name
    raise _unsupported()


def _unsupported() -> StatusError:
    return StatusError(
        failure(415, "UnsupportedMediaType", f"{MEDIA_TYPE} of this kind is not understood: {HINT}")
    )


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the field numbers and values: an int for a varint, bytes for any other type."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        wire = tag & 7
        if not tag >> 3:
            raise _MalformedError(f"proto: illegal tag 0 (wire type {wire})")
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in {_FIXED64, _FIXED32}:
            size = 8 if wire == _FIXED64 else 4
        else:
            raise _MalformedError(f"wire type {wire}")
        if position + size > len(data):
            raise _MalformedError("unexpected EOF")
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:  # noqa: PLR2004  the last byte has its top bit clear
            return value & (_WORD - 1), position + index + 1
    raise _MalformedError(
        "unexpected EOF" if position + _LONGEST_VARINT > len(data) else "proto: integer overflow"
    )


def _message(data: bytes, name: str) -> Any:
    special = _SPECIAL.get(name)
    if special is not None:
        return special(data)
    known = message(name) or {}
    if _is_list(name, known):
        return [_value(value, known[1].type) for number, value in _fields(data) if number == 1]
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        field = known.get(number)
        if field is not None:
            _add(found, field, value)
    return found


def _is_list(name: str, known: dict[int, MessageField]) -> bool:
    """Return whether a message is a list in JSON, because its Go type is a named slice."""
    return len(known) == 1 and 1 in known and known[1].json == "items" and named_schema(name) is None


def _add(found: dict[str, Any], field: MessageField, value: int | bytes) -> None:
    if not field.json:
        found.update(_value(value, field.type))
    elif field.label == "repeated":
        entries = found.setdefault(field.json, [])
        packed = isinstance(value, bytes) and field.type in {"int32", "int64", "bool"}
        entries += (
            _packed(value, field.type) if packed and isinstance(value, bytes) else [_value(value, field.type)]
        )
    elif field.label == "map" and isinstance(value, bytes):
        parts = dict(_fields(value))
        key = parts.get(1, b"")
        default = 0 if field.type in _SCALARS and field.type not in {"string", "bytes"} else b""
        found.setdefault(field.json, {})[key.decode() if isinstance(key, bytes) else str(key)] = _value(
            parts.get(2, default), field.type
        )
    else:
        found[field.json] = _value(value, field.type)


def _packed(value: bytes, kind: str) -> list[Any]:
    entries, position = [], 0
    while position < len(value):
        number, position = _varint(value, position)
        entries.append(_value(number, kind))
    return entries


def _value(value: int | bytes, kind: str) -> Any:
    scalar = _SCALARS.get(kind)
    return _message(_content(value), kind) if scalar is None else scalar(value)


def _content(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise _MalformedError("proto: wrong wireType = 0")
    return value


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise _MalformedError(f"proto: wrong wireType = {_BYTES}")
    return value


def _integer(value: int | bytes) -> int:
    number = _number(value)
    return number - _WORD if number & _SIGN_BIT else number


def _double(value: int | bytes) -> float:
    (number,) = struct.unpack("<d", _content(value))
    return float(number)


_SCALARS: dict[str, Callable[[int | bytes], Any]] = {
    "string": lambda value: _content(value).decode(),
    "bytes": lambda value: base64.b64encode(_content(value)).decode(),
    "bool": lambda value: bool(_number(value)),
    "int32": _integer,
    "int64": _integer,
    "uint32": _number,
    "uint64": _number,
    "double": _double,
}


def _time(data: bytes) -> str | None:
    """Return the time in a message of seconds since the epoch, or None if the message is empty."""
    if not data:
        return None
    return format_time(_integer(dict(_fields(data)).get(1, 0)))


def _micro_time(data: bytes) -> str | None:
    if not data:
        return None
    parts = dict(_fields(data))
    return format_micro_time(_integer(parts.get(1, 0)) + _integer(parts.get(2, 0)) / 1e9)


def _quantity(data: bytes) -> str:
    return _content(dict(_fields(data)).get(1, b"")).decode() or "0"


def _int_or_string(data: bytes) -> int | str:
    parts = dict(_fields(data))
    if parts.get(1):
        return _content(parts.get(3, b"")).decode()
    return _integer(parts.get(2, 0))


def _raw(data: bytes) -> Any:
    raw = _content(dict(_fields(data)).get(1, b""))
    return json.loads(raw) if raw else None


def _either(data: bytes) -> Any:
    """Return the schema or the boolean (field 1) that a message contains."""
    parts = dict(_fields(data))
    schema = next((value for value in parts.values() if isinstance(value, bytes)), None)
    return bool(parts.get(1)) if schema is None else _schema(schema)


def _schema(data: bytes) -> Any:
    """Return a nested schema without the zero values that JSON omits, because no later step drops them."""
    name = f"{_EXTENSIONS}.JSONSchemaProps"
    return typed.decode(named(name), _message(data, name), typed.Report())


def _schemas(data: bytes) -> Any:
    return (
        _either(data)
        if any(number == 1 for number, _ in _fields(data))
        else [_schema(value) for _, value in _fields(data) if isinstance(value, bytes)]
    )


def _schema_or_strings(data: bytes) -> Any:
    parts = list(_fields(data))
    if any(number == 1 for number, _ in parts):
        return _either(data)
    return [value.decode() for _, value in parts if isinstance(value, bytes)]


_SPECIAL: dict[str, Callable[[bytes], Any]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.FieldsV1": _raw,
    "apimachinery.pkg.api.resource.Quantity": _quantity,
    "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "apimachinery.pkg.runtime.RawExtension": _raw,
    f"{_EXTENSIONS}.JSON": _raw,
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": _either,
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _schemas,
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_strings,
}
