"""
Decodes objects of built-in kinds, with the same result as decoding and encoding them in Go.

`decode` converts a value of parsed JSON to the form in which an API server returns it. Undeclared members are
dropped and reported. Zero values are omitted or added according to the Go type's tags (structure.Omission).
Times and quantities are converted to their canonical form. A value of the wrong type raises an error with
Go's message.

A Decoder is a function that takes a value and a Report. Each type's decoder is compiled once from its schema.
`_struct`, `_map`, `_array` and `_integer` create decoders, and `_SHAPES` contains the decoders of the special
types. For a type that contains itself, the decoder is looked up at each use (`_late`). The Report tracks the
position in the object for error messages.
Follows: sigs.k8s.io/json (names in messages), encoding/json (omitempty), k8s.io/api (through kinds.json).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from handloop_sandbox.grammar.quantity import FORMAT_ERROR, QuantityError
from handloop_sandbox.kinds import structure
from handloop_sandbox.kinds.structure import Omission, Shape
from handloop_sandbox.wire import go_time, quantity
from handloop_sandbox.wire.resource import Schema

_INT_RANGES: Final = {"int32": 2**31, "int64": 2**63}
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_ANY: Final[Schema] = {}
_DURATION: Final = re.compile(r"[+-]?(\d+(\.\d+)?(ns|us|ms|s|m|h))+|0")
_MAX_REPORTED: Final = 100


class DecodeError(ValueError):
    """A value does not match its type. The message is worded as in Go."""


class Report:
    """The position of the value that is being decoded, and the paths of undeclared members found so far."""

    __slots__ = ("fields", "path", "struct", "unknown")

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.path: list[str] = []
        self.fields: list[str] = []
        self.struct = ""

    def found_unknown(self, name: str) -> None:
        """Record a dropped member."""
        if len(self.unknown) < _MAX_REPORTED:
            self.unknown.append(path_text([*self.path, name]))

    def mismatch(self, value: Any, go_type: str) -> DecodeError:
        """Return the error for a value of the wrong JSON type."""
        kind = json_kind(value)
        if isinstance(value, float) and not go_type.startswith(("int", "uint")):
            kind = "number"  # Go's message quotes only whole numbers
        if not self.fields:
            return DecodeError(f"json: cannot unmarshal {kind} into Go value of type {go_type}")
        where = f"{self.struct}.{'.'.join(self.fields)}"
        return DecodeError(f"json: cannot unmarshal {kind} into Go struct field {where} of type {go_type}")


Decoder = Callable[[Any, Report], Any]


def decode(schema: Schema, value: Any, report: Report) -> Any:
    """
    Return a value in the canonical form of its type.

    Raises: DecodeError if it does not match its type.
    """
    return _decoder(schema)(value, report)


def path_text(parts: list[str]) -> str:
    """Return the path of these member names and `[index]` parts."""
    return "".join(part if part.startswith("[") else f".{part}" for part in parts).removeprefix(".")


def compact(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def json_kind(value: Any) -> str:
    """Return Go's name for a JSON value's type, as used in errors."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return f"number {value:g}"
    if isinstance(value, int):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


_compiled: dict[str, Decoder] = {}


def _decoder(schema: Schema) -> Decoder:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return _compile(schema, "")
    known = _compiled.get(reference)
    if known is None:
        # A type can contain itself. Until it is compiled, its decoder is looked up at each use.
        _compiled[reference] = _late(reference)
        known = _compiled[reference] = _compile(schema, reference)
    return known


def _late(reference: str) -> Decoder:
    def decode_late(value: Any, report: Report) -> Any:
        return _compiled[reference](value, report)

    return decode_late


def _compile(schema: Schema, reference: str) -> Decoder:
    shape = structure.shape_of(schema)
    if shape is not Shape.PLAIN:
        return _SHAPES[shape]
    match structure.type_of(schema):
        case "object":
            return _object(schema, reference)
        case "array":
            return _array(schema)
        case "integer":
            return _integer(str(structure.resolve(schema).get("format", "int64")))
    return _scalar(schema)


def _scalar(schema: Schema) -> Decoder:
    match structure.type_of(schema):
        case "string":
            return _bytes if structure.resolve(schema).get("format") == "byte" else _text(_type_name(schema))
        case "number":
            return _number
        case "boolean":
            return _boolean
    return _raw


def _object(schema: Schema, reference: str) -> Decoder:
    value_schema = structure.value_of(schema)
    if value_schema is not None:
        return _map(_type_name(schema), value_schema)
    if not structure.properties(schema):
        return _raw if structure.is_preserving(schema) else _struct({}, reference)
    return _struct(structure.properties(schema), reference)


def _struct(properties: Mapping[str, Schema], reference: str) -> Decoder:
    go_type = _go_name(reference)
    struct = go_type.rpartition(".")[2]
    members = {name: _member(name, schema) for name, schema in properties.items()}
    zeros = {
        name: _zero_maker(schema)
        for name, schema in properties.items()
        if structure.omission(schema) is Omission.NEVER
    }

    def decode_struct(value: Any, report: Report) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise report.mismatch(value, go_type)
        result: dict[str, Any] = {}
        outer, report.struct = report.struct, struct
        for name, given in value.items():
            member = members.get(name)
            if member is None:
                report.found_unknown(name)
                continue
            if given is None:
                continue
            decoder, where, fits, omits_zero = member
            if type(given) is fits:
                decoded = given
            else:
                report.path.append(name)
                report.fields.append(where)
                decoded = decoder(given, report)
                report.path.pop()
                report.fields.pop()
                report.struct = struct
            if decoded or not omits_zero:
                result[name] = decoded
        for name, zero in zeros.items():
            if name not in result:
                result[name] = zero()
        report.struct = outer
        return result

    return decode_struct


def _member(name: str, schema: Schema) -> tuple[Decoder, str, type | None, bool]:
    """
    Return what a struct's decoder needs to decode a member.

    Returns: the decoder, the member's name in messages, the Python type whose values need no decoding (or
    None), and whether a zero value is omitted.
    """
    found = structure.resolve(schema)
    is_plain = structure.shape_of(found) is Shape.PLAIN and found.get("format") != "byte"
    fits = {"string": str, "boolean": bool}.get(structure.type_of(found)) if is_plain else None
    where = f"{schema['x-in']}.{name}" if "x-in" in schema else name
    return _decoder(schema), where, fits, structure.omission(schema) is Omission.OMITEMPTY


def _map(go_type: str, value_schema: Schema) -> Decoder:
    inner = _decoder(value_schema)
    is_bytes = value_schema.get("format") == "byte"
    zero = "" if is_bytes else structure.zero_of(value_schema)  # empty bytes in protobuf are an empty string

    def decode_map(value: Any, report: Report) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise report.mismatch(value, go_type)
        result = {}
        for name, given in value.items():
            report.path.append(name)
            result[name] = zero if given is None else inner(given, report)
            report.path.pop()
        return result

    return decode_map


def _array(schema: Schema) -> Decoder:
    item_schema = structure.items_of(schema) or _ANY
    inner = _decoder(item_schema)
    go_type = _type_name(schema)
    zero = structure.zero_of(item_schema)

    def decode_array(value: Any, report: Report) -> list[Any]:
        if not isinstance(value, list):
            raise report.mismatch(value, go_type)
        result = []
        for index, given in enumerate(value):
            report.path.append(f"[{index}]")
            result.append(zero if given is None else inner(given, report))
            report.path.pop()
        return result

    return decode_array


def _integer(format_: str) -> Decoder:
    bound = _INT_RANGES.get(format_, 2**63)
    go_type = format_ if format_ in _INT_RANGES else "int64"

    def decode_integer(value: Any, report: Report) -> int:
        return _whole(value, report, go_type, range(-bound, bound))

    return decode_integer


def _whole(value: Any, report: Report, go_type: str, bounds: range) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise report.mismatch(value, go_type)
    if value not in bounds:
        where = f"{report.struct}.{'.'.join(report.fields)}"
        raise DecodeError(
            f"json: cannot unmarshal number {value} into Go struct field {where} of type {go_type}"
        )
    return value


def _byte(value: Any, report: Report) -> int:
    return 0 if value is None else _whole(value, report, "uint8", range(256))


def _number(value: Any, report: Report) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise report.mismatch(value, "float64")
    return value


def _boolean(value: Any, report: Report) -> bool:
    if not isinstance(value, bool):
        raise report.mismatch(value, "bool")
    return value


def _text(go_type: str) -> Decoder:
    def decode_text(value: Any, report: Report) -> str:
        if not isinstance(value, str):
            raise report.mismatch(value, go_type)
        return value

    return decode_text


def _bytes(value: Any, report: Report) -> str:
    if isinstance(value, list):
        return base64.b64encode(bytes(_byte(one, report) for one in value)).decode()
    if not isinstance(value, str):
        raise report.mismatch(value, "[]uint8")
    text = value.replace("\n", "").replace("\r", "")
    good = _BASE64.match(text)
    end = good.end() if good else 0
    if end != len(text):
        raise DecodeError(f"illegal base64 data at input byte {end}")
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise DecodeError(f"illegal base64 data at input byte {len(text) // 4 * 4}") from error
    return text


def _time(value: Any, report: Report) -> str | None:
    return _moment(value, report, micros=False)


def _micro_time(value: Any, report: Report) -> str | None:
    return _moment(value, report, micros=True)


def _moment(value: Any, report: Report, *, micros: bool) -> str | None:
    if not isinstance(value, str):
        raise report.mismatch(value, "string")
    try:
        return go_time.canonical(value, micros=micros)
    except go_time.TimeError as error:
        raise DecodeError(str(error)) from error


def _duration(value: Any, report: Report) -> str:
    if not isinstance(value, str):
        raise report.mismatch(value, "string")
    if not _DURATION.fullmatch(value):
        raise DecodeError(f'time: invalid duration "{value}"')
    return value


def _quantity(value: Any, report: Report) -> str:
    del report
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise DecodeError(FORMAT_ERROR)
    try:
        return quantity.canonical(value)
    except QuantityError as error:
        raise DecodeError(str(error)) from error


def _int_or_string(value: Any, report: Report) -> int | str:
    if isinstance(value, str):
        return value
    decoded: int = _integer("int32")(value, report)
    return decoded


def _raw(value: Any, report: Report) -> Any:
    del report
    return value


_SHAPES: Final[dict[Shape, Decoder]] = {
    Shape.TIME: _time,
    Shape.MICRO_TIME: _micro_time,
    Shape.DURATION: _duration,
    Shape.QUANTITY: _quantity,
    Shape.INT_OR_STRING: _int_or_string,
    Shape.RAW: _raw,
}


def _zero_maker(schema: Schema) -> Callable[[], Any]:
    """Return a function that creates the zero value of a member that is always encoded."""
    if structure.is_struct(schema) and structure.shape_of(schema) is Shape.PLAIN:
        return lambda: _decoder(schema)({}, Report())
    return lambda: structure.zero_of(schema)


def _go_name(reference: str) -> str:
    """`v1.Container` from `api.core.v1.Container`."""
    return ".".join(reference.rsplit(".", 2)[-2:]) if reference else "struct"


def _type_name(schema: Schema) -> str:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _go_name(reference)
    value, item = structure.value_of(schema), structure.items_of(schema)
    match structure.type_of(schema):
        case "array":
            unnamed = f"[]{_type_name(item or _ANY)}"
        case "object" if value is not None:
            unnamed = f"map[string]{_type_name(value)}"
        case "string" if schema.get("format") == "byte":
            unnamed = "[]uint8"
        case "integer":
            unnamed = str(schema.get("format", "int64"))
        case "boolean":
            unnamed = "bool"
        case kind:
            unnamed = kind or "interface {}"
    return str(schema.get("x-go", unnamed))
