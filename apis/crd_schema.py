"""
Generates structural schemas from types, or refuses a type. docs/types.md has a table of types and schemas.

The decoder accepts every object that the server accepted and stored, and the server accepts every object that
the decoder accepts, with these exceptions. Only the server checks list types, CEL rules, `crd_required` and a
Meta's extra_json_schema. Only the server refuses whole numbers beyond 64 bits. Only the decoder checks
structs marked with ANY_FIELDS.
Follows: apiextensions.k8s.io/v1 JSONSchemaProps. To check a whole number, kube-openapi (pkg/validation)
converts the bound to int64. This is not exact for a fractional bound, or for a magnitude of at least 2**53.
Such a bound therefore becomes a CEL rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, Flag
from typing import Any, Final, get_origin

import msgspec
from msgspec import inspect

from handloop.apis.class_attributes import check_attributes
from handloop.apis.decoders import decoder_of
from handloop.apis.go_pattern import go_pattern
from handloop.apis.json_value import JSON
from handloop.apis.meta import FrozenMap, Kind, MapOf, ObjectMeta, decode_hook, encode_hook
from handloop.apis.schema_annotations import (
    MARK_OF_ANY_FIELDS,
    MARK_OF_DEFAULT,
    NUMBER_FORMATS,
    TEXT_FORMATS,
    VALIDATIONS,
    Rule,
)

_INT32: Final = (-(2**31), 2**31 - 1)
_EXACT: Final = 2**53
"""Bounds in a schema are float64, which can represent any whole number below this one exactly."""

_NULL: Final = inspect.NoneType()
_WAYS_OUT: Final[Mapping[type[inspect.Type], str]] = {
    inspect.ListType: "a list is mutable: write tuple[T, ...]",
    inspect.DictType: "a dict is mutable: write FrozenMap for strings, or MapOf[V]",
    inspect.SetType: "a set is mutable: write Annotated[tuple[T, ...], LIST_SET]",
    inspect.FrozenSetType: "a frozenset has no order: write Annotated[tuple[T, ...], LIST_SET]",
    inspect.TupleType: "all items of a list must have one type: write tuple[T, ...] with bounds, or a struct",
    inspect.AnyType: "Any has no shape: write JSON",
    inspect.RawType: "a Raw keeps the whole response in memory: write JSON",
    inspect.DateTimeType: "the server parses date-times differently from Python: write DateTime",
    inspect.BytesType: 'base64 is decoded differently by the server: write str with schema_format("byte")',
    inspect.DecimalType: "a decimal has no schema: write str with a pattern, or an int",
}
UNOBSERVED: Final = {"observedGeneration": -1}
"""The status of an object that no controller has seen. kstatus would consider it ready without this."""
_NAMES: Final[Mapping[type, str]] = {bool: "boolean", int: "integer", str: "string"}


@dataclass(frozen=True, slots=True)
class _Place:
    """
    The place where a type is used in a kind.

    path is shown in messages, for example `spec.tags[].x`. outer holds the structs that contain the place.
    told is true if defaults are written into the schema. They are omitted in metadata, and in a status, which
    users do not write.
    """

    path: str
    outer: tuple[type, ...] = ()
    told: bool = True

    def below(self, step: str) -> _Place:
        return replace(self, path=f"{self.path}{step}")

    def refusal(self, why: str) -> TypeError:
        return TypeError(f"{self.path}: {why}")


def object_schema(kind: type[Kind], *, defaults: bool = True) -> dict[str, Any]:
    """
    Return the structural schema of a top-level type, which starts with the three fields of every kind.

    Args: defaults is True if the schema must contain the type's defaults, and False for a view of another
    program's kind, whose definition does not contain them.
    Raises: TypeError if no schema can express a part. The message has the part's path and how to fix it.
    """
    schema = _struct(_struct_type(kind), _Place(kind.__name__, told=defaults))
    envelope = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    properties = {name: part for name, part in schema["properties"].items() if name not in envelope}
    return schema | {"properties": envelope | properties}


def _struct_type(kind: type[Kind]) -> inspect.StructType:
    decoder_of(kind, decode_hook)  # refuses a type such as Literal[1.5]
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info


def _struct(info: inspect.StructType, place: _Place) -> dict[str, Any]:
    cls: type[msgspec.Struct] = get_origin(info.cls) or info.cls
    if cls in place.outer:
        raise place.refusal(
            f"{cls.__name__} contains itself, which a schema cannot express: write JSON for the inner one"
        )
    if info.array_like or not cls.__struct_config__.frozen:
        raise place.refusal(f"{cls.__name__} is mutable or is not a JSON object: derive it from APIStruct")
    check_attributes(cls)
    schema: dict[str, Any] = {"type": "object"}
    if cls.__doc__:
        schema["description"] = " ".join(cls.__doc__.strip().split("\n\n")[0].split())
    demanded: tuple[str, ...] = getattr(cls, "crd_required", ())
    required = [f.encode_name for f in info.fields if f.required or f.encode_name in demanded]
    types = {field.name: field.type for field in msgspec.structs.fields(cls)}
    inner = replace(place, outer=(*place.outer, cls), told=place.told and cls is not ObjectMeta)
    schema["properties"] = _tag(info) | {
        field.encode_name: _field(field, types[field.name], inner, demanded=field.encode_name in demanded)
        for field in info.fields
    }
    if required:
        schema["required"] = required
    if rules := getattr(cls, "crd_rules", ()):
        schema[VALIDATIONS] = [rule.schema() for rule in rules]
    return schema


def _tag(info: inspect.StructType) -> dict[str, Any]:
    if info.tag_field is None:
        return {}
    return {info.tag_field: {"type": _NAMES[type(info.tag)], "enum": [info.tag]}}


def _field(field: inspect.Field, annotation: Any, struct: _Place, *, demanded: bool) -> dict[str, Any]:
    """
    Return the schema of a field.

    The schema allows null only if null differs from an absent field, that is, if the field has no default, or
    a default other than None.
    """
    is_top = len(struct.outer) == 1
    place = replace(
        struct,
        path=f"{struct.path}.{field.name}",
        told=struct.told and not (is_top and field.encode_name in ("metadata", "status")),
    )
    default = default_of(field)
    schema = _schema(field.type, place)
    if _takes_null(field.type) and (field.required or not (default is None or _is_map(field.type))):
        schema = _nullable(schema, place)
    if _is_marked(field.type, MARK_OF_DEFAULT):
        _check_has_default(default, place, demanded=demanded)
        if place.told:
            schema["default"] = _without_inner(_told(default, annotation, place), schema)
    elif place.told and not demanded and _says_something(default):
        schema["default"] = _told(default, annotation, place)
    is_new = is_top and struct.told and field.encode_name == "status"
    if is_new and "observedGeneration" in schema.get("properties", ()):
        if set(schema.get("required", ())) - {"observedGeneration"}:
            raise place.refusal(
                f"a new object has the status {UNOBSERVED}: give the other status fields a default"
            )
        schema["default"] = _told(UNOBSERVED, annotation, place)
    return schema


def default_of(field: inspect.Field) -> Any:
    """Return the default of a field, even one made by a factory; NODEFAULT if it has none."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _says_something(default: Any) -> bool:
    """Return whether a default belongs in the schema. Empty values, false, null and structs do not."""
    if isinstance(default, (bool, str, tuple, Mapping)) and not isinstance(default, Enum):
        return bool(default)
    return isinstance(default, (int, float, Enum, JSON))


def _is_marked(info: inspect.Type, mark: str) -> bool:
    match info:
        case inspect.Metadata():
            return mark in (info.extra_json_schema or {}) or _is_marked(info.type, mark)
        case inspect.UnionType(types=types):
            return any(_is_marked(part, mark) for part in types)
        case _:
            return False


def _check_has_default(default: Any, place: _Place, *, demanded: bool) -> None:
    if demanded:
        raise place.refusal(
            "SERVER_DEFAULT contradicts crd_required: either the user must set the field, or the server does"
        )
    if default in (None, msgspec.NODEFAULT, msgspec.UNSET):
        raise place.refusal(
            "SERVER_DEFAULT needs a default that the server can fill in, and the field has none"
        )


def _without_inner(default: Any, schema: Mapping[str, Any]) -> Any:
    """Return a struct's default without the parts that the server fills in from nested defaults."""
    parts = schema.get("properties")
    if not isinstance(default, dict) or parts is None:
        return default
    inner = {name: _without_inner(value, parts.get(name, {})) for name, value in default.items()}
    absent = object()
    return {
        name: value for name, value in inner.items() if value != parts.get(name, {}).get("default", absent)
    }


def _told(default: Any, annotation: Any, place: _Place) -> Any:
    text = msgspec.json.encode(default, enc_hook=encode_hook)
    try:
        decoder_of(annotation, decode_hook).decode(text)
    except msgspec.ValidationError as error:
        why = f"the default {default!r} does not fit the field's type: {error}"
        raise place.refusal(why) from None
    return msgspec.json.decode(text)


def _takes_null(info: inspect.Type) -> bool:
    match info:
        case inspect.Metadata():
            return _takes_null(info.type)
        case inspect.UnionType():
            return _NULL in info.types or any(map(_takes_null, info.types))
        case inspect.LiteralType():
            return None in info.values
        case _:
            return _is_map(info)


def _is_map(info: inspect.Type) -> bool:
    """Return whether a type is a map of strings, which decodes null as an empty map, as Go does."""
    bare = _bare(info)
    return isinstance(bare, inspect.CustomType) and bare.cls is FrozenMap


def _element(info: inspect.Type, place: _Place) -> dict[str, Any]:
    """Return the schema of a list item or a map value. Unlike in a field, null cannot mean absence there."""
    schema = _schema(info, place)
    return _nullable(schema, place) if _takes_null(info) else schema


def _nullable(schema: dict[str, Any], place: _Place) -> dict[str, Any]:
    """Return the schema with null allowed. Null does not fit an enum, even if the enum lists it."""
    if "enum" in schema:
        raise place.refusal(
            "a schema's enum cannot allow null: write the default None, or a value that stands for it"
        )
    return schema | {"nullable": True}


def _schema(info: inspect.Type, place: _Place) -> dict[str, Any]:  # noqa: PLR0911 - one line per kind of type
    match info:
        case inspect.Metadata():
            return _annotated(info, place)
        case inspect.UnionType():
            return _union(info, place)
        case inspect.StructType():
            return _struct(info, place)
        case inspect.StrType() | inspect.IntType() | inspect.FloatType() | inspect.BoolType():
            return _scalar(info, place)
        case inspect.LiteralType(values=values):
            return _enumeration(values, place)
        case inspect.EnumType(cls=cls):
            return _enum(cls, place)
        case inspect.VarTupleType():
            limits = {"minItems": info.min_length, "maxItems": info.max_length}
            return {"type": "array", "items": _element(info.item_type, place.below("[]"))} | _said(limits)
        case inspect.CustomType(cls=cls) if issubclass(cls, MapOf):
            return _map(cls, place)
        case inspect.CustomType(cls=cls) if cls is JSON:
            return {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}
        case _:
            name = type(info).__name__.removesuffix("Type")
            why = f"a schema cannot express {name}: write an APIStruct, or str"
            raise place.refusal(_WAYS_OUT.get(type(info), why))


def _said(limits: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in limits.items() if value is not None}


def _map(kind: type[MapOf[Any]], place: _Place) -> dict[str, Any]:
    values = _element(inspect.type_info(kind.values_type), place.below("{}"))
    limits = {"minProperties": kind.min_length or None, "maxProperties": kind.max_length}
    return {"type": "object", "additionalProperties": values} | _said(limits)


def _annotated(info: inspect.Metadata, place: _Place) -> dict[str, Any]:
    extra = dict(info.extra_json_schema or {})
    if examples := extra.pop("examples", ()):
        extra["example"] = examples[0]
    if extra.pop(MARK_OF_ANY_FIELDS, False):
        if not isinstance(_bare(info), inspect.StructType):
            raise place.refusal("ANY_FIELDS is for a struct: write Annotated[PodTemplateSpec, ANY_FIELDS]")
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True} | extra
    told = extra.pop(MARK_OF_DEFAULT, False)
    if told and place.path.endswith(("[]", "{}")):
        raise place.refusal("SERVER_DEFAULT is for a field: an item of a list or map has no default")
    schema = _with_extra(_schema(info.type, place), extra, _bare(info), place)
    items = schema.get("items", {})
    is_plain = items.get("type") in _NAMES.values() and not items.get("nullable")
    if schema.get("x-kubernetes-list-type") == "set" and not is_plain:
        raise place.refusal(
            "the items of a set must be strings or whole numbers: write list_map(...) for structs"
        )
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        _check_key(key, items, place)
    return schema


def _with_extra(
    schema: dict[str, Any], extra: dict[str, Any], bare: inspect.Type, place: _Place
) -> dict[str, Any]:
    """Merge an annotation into a schema. Rules are appended; the format "" removes the schema's format."""
    kind = schema.get("type")
    if "x-kubernetes-map-type" in extra and kind != "object":
        raise place.refusal("MAP_ATOMIC is for a map or a struct: write LIST_ATOMIC for a list")
    if not extra.keys().isdisjoint(("minProperties", "maxProperties")) and kind != "object":
        raise place.refusal(
            "property_counts is for a struct: write min_length and max_length for other types"
        )
    name = extra.get("format", "")
    if name in TEXT_FORMATS and kind != "string":
        raise place.refusal(f"the format {name} is for strings")
    if name in NUMBER_FORMATS and kind not in ("integer", "number"):
        raise place.refusal(f"the format {name} is for numbers")
    if "format" in extra and isinstance(bare, inspect.IntType):
        schema |= _bounds(bare)  # the removed format may have implied these bounds
    rules = [*schema.get(VALIDATIONS, ()), *extra.get(VALIDATIONS, ())]
    whole = schema | extra | ({VALIDATIONS: rules} if rules else {})
    return {key: value for key, value in whole.items() if (key, value) != ("format", "")}


def _check_key(key: str, items: Mapping[str, Any], place: _Place) -> None:
    schema = items.get("properties", {}).get(key)
    if schema is None or schema.get("type") in (None, "object", "array") or schema.get("nullable"):
        raise place.refusal(
            f"{key} cannot be a key: a key of list_map must be a number, string or boolean field of the items"
        )
    if key not in items.get("required", ()) and "default" not in schema:
        raise place.refusal(
            f"the key {key} may be absent: remove its default, or choose one that is not empty"
        )


def _union(info: inspect.UnionType, place: _Place) -> dict[str, Any]:
    """Return a union's schema. For `T | None` it is T's; any other union must be of an int and a string."""
    some = [part for part in info.types if part != _NULL]
    if len(some) == 1:
        return _schema(some[0], place)
    plain = {type(part): part for part in map(_bare, some)}
    if plain.keys() == {inspect.IntType, inspect.StrType}:
        return _int_or_string(plain[inspect.IntType], plain[inspect.StrType], place)
    if any(isinstance(part, inspect.StructType) for part in plain.values()):
        raise place.refusal(
            "a schema cannot express a union of structs: write one with optional fields, and a Rule"
        )
    if plain.keys() == {inspect.IntType, inspect.FloatType}:
        raise place.refusal("a float also accepts whole numbers: write float")
    raise place.refusal(
        "a schema can express only the unions int | str and T | None: write JSON, or one type and a Rule"
    )


def _bare(info: inspect.Type) -> inspect.Type:
    return _bare(info.type) if isinstance(info, inspect.Metadata) else info


def _int_or_string(number: Any, text: Any, place: _Place) -> dict[str, Any]:
    schema = {"x-kubernetes-int-or-string": True} | _bounds(number) | _text(text, place)
    if VALIDATIONS in schema:
        raise place.refusal(f"int | str cannot have a multiple or a bound beyond {_EXACT}: write a Rule")
    return schema


def _scalar(info: inspect.Type, place: _Place) -> dict[str, Any]:
    match info:
        case inspect.IntType():
            return _integer(info)
        case inspect.FloatType():
            if info.multiple_of is not None:
                raise place.refusal(
                    "rounding makes multiples of a float unreliable: write an int in a smaller unit"
                )
            return {"type": "number"} | _bounds(info)
        case inspect.StrType():
            return {"type": "string"} | _text(info, place)
        case _:
            return {"type": "boolean"}


def _integer(info: inspect.IntType) -> dict[str, Any]:
    """
    Return the schema of an int.

    If both bounds are within int32, the format is int32. A bound that the format implies is left out.
    """
    bounds = _bounds(info)
    low, high = bounds.get("minimum", -_EXACT), bounds.get("maximum", _EXACT)
    is_small = low >= _INT32[0] and high <= _INT32[1]
    own = (("minimum", _INT32[0]), ("maximum", _INT32[1])) if is_small else ()
    kept = {name: bound for name, bound in bounds.items() if (name, bound) not in own}
    return {"type": "integer", "format": "int32" if is_small else "int64"} | kept


def _bounds(info: inspect.IntType | inspect.FloatType) -> dict[str, Any]:
    """
    Return a number's bounds. A bound or multiple that the server would not check exactly becomes a CEL rule.

    For example, the server's check of multiples accepts 2147483647.0 as a multiple of 5.
    """
    schema: dict[str, Any] = {}
    rules = []
    for sign, name, bound in _signed(info):
        if bound == int(bound) and abs(bound) < _EXACT:
            schema |= {name: int(bound)} | ({f"exclusive{name.capitalize()}": True} if sign in "<>" else {})
        else:
            rules.append(Rule(expression=f"self {sign} {bound!r}", message=f"should be {sign} {bound!r}"))
    if (step := info.multiple_of) is not None:
        rules.append(Rule(expression=f"self % {step} == 0", message=f"should be a multiple of {step}"))
    return schema | ({VALIDATIONS: [rule.schema() for rule in rules]} if rules else {})


def _signed(info: inspect.IntType | inspect.FloatType) -> Iterator[tuple[str, str, float]]:
    """Yield an operator, a schema keyword and a bound. For whole numbers, "above 0" becomes "at least 1"."""
    step = 1 if isinstance(info, inspect.IntType) else 0
    for sign, name, bound, inward in (
        (">", "minimum", info.gt, step),
        (">=", "minimum", info.ge, 0),
        ("<", "maximum", info.lt, -step),
        ("<=", "maximum", info.le, 0),
    ):
        if bound is not None:
            yield f"{sign}=" if inward else sign, name, bound + inward


def _text(info: inspect.StrType, place: _Place) -> dict[str, Any]:
    pattern = info.pattern
    try:
        spelled = None if pattern is None else go_pattern(pattern)
    except ValueError as error:
        raise place.refusal(str(error)) from None
    return _said({"minLength": info.min_length, "maxLength": info.max_length, "pattern": spelled})


def _enum(cls: type[Enum], place: _Place) -> dict[str, Any]:
    if issubclass(cls, Flag) or cls._missing_.__func__ is not Enum._missing_.__func__:  # type: ignore[attr-defined]
        raise place.refusal(
            f"{cls.__name__} allows values that it does not list: write an Enum of its values"
        )
    return _enumeration((member.value for member in cls), place)


def _enumeration(values: Iterable[Any], place: _Place) -> dict[str, Any]:
    some = [value for value in values if value is not None]
    kinds = {_NAMES[type(value)] for value in some}
    if len(kinds) != 1:  # in a mixed enum, the server would confuse the number 49 with the text "1"
        raise place.refusal("the values of an enum must have one type: write strings, numbers or booleans")
    return {"type": kinds.pop(), "enum": some}
