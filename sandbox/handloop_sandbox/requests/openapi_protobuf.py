"""
Encodes OpenAPI documents in protobuf, as gnostic's openapi.v2.Document and openapi.v3.Document.

Go clients request these messages (kubectl for an unknown kind, and the discovery client's OpenAPISchema).
Tables map each member that occurs in the sandbox's documents to its field number and its writer.
The messages contain extensions and values of any type as YAML. The sandbox writes JSON, a subset of YAML.
Follows: gnostic-models openapiv2/OpenAPIv2.proto and openapiv3/OpenAPIv3.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from handloop_sandbox.wire.protobuf_output import content, double, text, whole

V2: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
V3: Final = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"

_Writer = Callable[[int, Any], bytes]
_Fields = dict[str, tuple[int, _Writer]]


@lru_cache(maxsize=1)
def version_2(document: bytes) -> bytes:
    """Convert an OpenAPI version 2 document from JSON to protobuf."""
    return _members(msgspec.json.decode(document), _DOCUMENT_2)


@lru_cache(maxsize=16)
def version_3(document: bytes) -> bytes:
    """Convert an OpenAPI version 3 document from JSON to protobuf."""
    return _members(msgspec.json.decode(document), _DOCUMENT_3)


def _members(value: Mapping[str, Any], fields: _Fields) -> bytes:
    """Encode a message's fields. The row "x-" applies to extensions. Members without a row are omitted."""
    written = []
    for key, member in value.items():
        if key in fields:
            number, write = fields[key]
            written.append(write(number, member))
        elif key.startswith("x-") and "x-" in fields:
            number, write = fields["x-"]
            written.append(content(number, text(1, key) + write(2, member)))
    return b"".join(written)


def _message(fields: _Fields) -> _Writer:
    return lambda number, value: content(number, _members(value, fields))


def _inside(write: _Writer, at: int = 1) -> _Writer:
    """Return a writer that wraps a value in a message, which is how gnostic represents a oneof."""
    return lambda number, value: content(number, write(at, value))


def _each(write: _Writer) -> _Writer:
    return lambda number, values: b"".join(write(number, value) for value in values)


def _named(write: _Writer, at: int = 1) -> _Writer:
    """Return a writer that encodes a map as a message, with one entry of name and value for each key."""

    def entries(number: int, values: Mapping[str, Any]) -> bytes:
        return content(number, b"".join(content(at, text(1, key) + write(2, values[key])) for key in values))

    return entries


def _any(number: int, value: Any) -> bytes:
    return content(number, text(2, msgspec.json.encode(value).decode()))


def _default(number: int, value: Any) -> bytes:
    """Encode a default value. Objects and lists are omitted, because version 3 cannot express them."""
    match value:
        case bool():
            return content(number, whole(2, value))
        case int() | float():
            return content(number, double(1, value))
        case str():
            return content(number, text(3, value))
    return b""


def _texts(number: int, values: str | Iterable[str]) -> bytes:
    return _each(text)(number, [values] if isinstance(values, str) else values)


def _schema_2(number: int, schema: Mapping[str, Any]) -> bytes:
    return content(number, _members(schema, _SCHEMA_2))


def _schema_3(number: int, schema: Mapping[str, Any]) -> bytes:
    """Encode a schema in version 3, or a reference to a schema."""
    if "$ref" in schema:
        return content(number, content(2, text(1, schema["$ref"])))
    return content(number, content(1, _members(schema, _SCHEMA_3)))


def _additional(write: _Writer) -> _Writer:
    def choice(number: int, value: Any) -> bytes:
        return content(number, whole(2, value) if isinstance(value, bool) else write(1, value))

    return choice


def _checks(first: int) -> _Fields:
    """Return the rows of the validation keywords. In both versions, their numbers ascend from first."""
    rows: tuple[tuple[str, _Writer], ...] = (
        ("multipleOf", double),
        ("maximum", double),
        ("exclusiveMaximum", whole),
        ("minimum", double),
        ("exclusiveMinimum", whole),
        ("maxLength", whole),
        ("minLength", whole),
        ("pattern", text),
        ("maxItems", whole),
        ("minItems", whole),
        ("uniqueItems", whole),
        ("maxProperties", whole),
        ("minProperties", whole),
        ("required", _each(text)),
        ("enum", _each(_any)),
    )
    return {key: (first + index, write) for index, (key, write) in enumerate(rows)}


_SCHEMA_2: _Fields = {
    "$ref": (1, text),
    "format": (2, text),
    "title": (3, text),
    "description": (4, text),
    "default": (5, _any),
    **_checks(6),
    "additionalProperties": (21, _additional(_schema_2)),
    "type": (22, _inside(_texts)),
    "items": (23, _inside(_schema_2)),
    "properties": (25, _named(_schema_2)),
    "example": (30, _any),
    "x-": (31, _any),
}
_QUERY_2: _Fields = {"in": (2, text), "name": (4, text), "type": (6, text), "uniqueItems": (20, whole)}
_BODY_2: _Fields = {"name": (2, text), "in": (3, text), "required": (4, whole), "schema": (5, _schema_2)}


def _parameter_2(number: int, value: Mapping[str, Any]) -> bytes:
    body = value["in"] == "body"
    choice = _message(_BODY_2)(1, value) if body else _inside(_message(_QUERY_2), 3)(2, value)
    return content(number, content(1, choice))


_RESPONSE: Final = _message({"description": (1, text)})
_OPERATION_2: Final = _message(
    {
        "consumes": (7, _each(text)),
        "parameters": (8, _each(_parameter_2)),
        "responses": (9, _named(_inside(_RESPONSE))),
        "x-": (13, _any),
    }
)
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_KEY: _Fields = {"type": (1, text), "name": (2, text), "in": (3, text), "description": (4, text)}
_DOCUMENT_2: _Fields = {
    "swagger": (1, text),
    "info": (2, _message({"title": (1, text), "version": (2, text)})),
    "paths": (8, _named(_message({key: (2 + at, _OPERATION_2) for at, key in enumerate(_METHODS)}), 2)),
    "definitions": (9, _named(_schema_2)),
    "security": (12, _each(_named(_inside(_texts)))),
    "securityDefinitions": (13, _named(_inside(_message(_KEY), 2))),
}

_SCHEMA_3: _Fields = {
    "nullable": (1, whole),
    "example": (7, _any),
    "title": (9, text),
    **_checks(10),
    "type": (25, text),
    "allOf": (26, _each(_schema_3)),
    "oneOf": (27, _each(_schema_3)),
    "anyOf": (28, _each(_schema_3)),
    "not": (29, lambda number, schema: content(number, _members(schema, _SCHEMA_3))),
    "items": (30, _inside(_schema_3)),
    "properties": (31, _named(_schema_3)),
    "additionalProperties": (32, _additional(_schema_3)),
    "default": (33, _default),
    "description": (34, text),
    "format": (35, text),
    "x-": (36, _any),
}
_QUERY_3: Final = _message({"name": (1, text), "in": (2, text), "schema": (10, _schema_3)})
_BODY_3: Final = _message(
    {"content": (2, _named(_message({"schema": (1, _schema_3)}))), "required": (3, whole)}
)
_OPERATION_3: Final = _message(
    {
        "parameters": (6, _each(_inside(_QUERY_3))),
        "requestBody": (7, _inside(_BODY_3)),
        "responses": (8, _named(_inside(_RESPONSE), 2)),
        "x-": (13, _any),
    }
)
_DOCUMENT_3: _Fields = {
    "openapi": (1, text),
    "info": (2, _message({"title": (1, text), "version": (6, text)})),
    "paths": (4, _named(_message({key: (4 + at, _OPERATION_3) for at, key in enumerate(_METHODS)}))),
    "components": (5, _message({"schemas": (1, _named(_schema_3))})),
}
