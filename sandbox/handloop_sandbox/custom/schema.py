"""
Validates custom objects against their definition's schema. Errors are worded as in a real API server.

Validation rules (x-kubernetes-validations) are evaluated in cel_rules.py.
Follows: kube-openapi pkg/validation/validate, apiextensions pkg/apiserver/validation and schema/listtype.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from handloop_sandbox.custom.correlation import ABSENT, elements, identity, is_unchanged, member
from handloop_sandbox.kinds import formats, structure
from handloop_sandbox.wire import go_regexp
from handloop_sandbox.wire.causes import (
    duplicate,
    invalid_type,
    invalid_value,
    not_supported,
    required,
    shown,
    too_long,
    too_many,
)
from handloop_sandbox.wire.resource import Schema
from handloop_sandbox.wire.status import Cause

_NO_FIELD: Final = "<nil>"
_EXACT: Final = 2**53
_TOLERANCE: Final = 1e-9
"""A number below _EXACT counts as whole if its relative distance to a whole number is less than this."""
_MAX_FLOAT32: Final = 3.4028234663852886e38
_GO_FORMATS: Final = {int: "int64", float: "float64"}
_INT_BOUNDS: Final = {"int32": 2**31, "int64": 2**63}


def validate(schema: Schema, value: Any, old: Any = ABSENT, *, prefix: str = "") -> list[Cause]:
    """
    Return the errors in a value, except errors in parts that are unchanged from old.

    Args: prefix is put in front of each cause's field, but not in front of the paths in its message. Callers
    that validate only the status pass a prefix.
    """
    causes = _validate(schema, value, "", old)
    if not prefix:
        return causes
    return [cause._replace(field=f"{prefix}.{cause.field}".rstrip(".")) for cause in causes]


def validate_lists(schema: Schema, value: Any, path: str = "") -> list[Cause]:
    """Return the errors about duplicate elements in lists of type set or map."""
    causes: list[Cause] = []
    if isinstance(value, list):
        items = structure.items_of(schema)
        if items is not None:
            causes += _duplicates(schema, value, path)
            for index, entry in enumerate(value):
                causes += validate_lists(items, entry, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, entry in value.items():
            declared = structure.property_of(schema, name)
            if declared:
                causes += validate_lists(declared, entry, structure.member_path(schema, path, name))
    return causes


def _validate(schema: Schema, value: Any, path: str, old: Any) -> list[Cause]:
    causes = _all_causes(schema, value, path, old)
    return [] if causes and old is not ABSENT and is_unchanged(schema, value, old) else causes


def _all_causes(schema: Schema, value: Any, path: str, old: Any) -> list[Cause]:
    causes = _type_causes(schema, value, path)
    if value is None:
        return causes + _enum_causes(schema, value, path)
    causes += _combined(schema, value, path, old)
    match value:
        case bool():
            pass
        case str():
            causes += _string_causes(schema, value, path)
        case int() | float():
            causes += _number_causes(schema, value, path)
        case list():
            causes += _list_causes(schema, value, path, old)
    causes += _enum_causes(schema, value, path)
    if isinstance(value, dict):
        causes += _object_causes(schema, value, path, old)
    return causes


def _type_causes(schema: Schema, value: Any, path: str) -> list[Cause]:
    wanted = _types(schema)
    if value is None and (not wanted or schema.get("nullable")):
        return []
    actual = _type_name(value)
    fits = actual in wanted or (actual == "integer" and "number" in wanted)
    if not fits and _names_the_format(schema, value):
        return _misformatted(schema, value, path)
    # A real API server also accepts a list in place of a string with a format.
    if fits or not wanted or (isinstance(value, list) and formats.is_known(schema.get("format", ""))):
        return _format_causes(schema, value, path)
    whole = actual == "number" and wanted == ("integer",)
    format_ = schema.get("format") if whole else None
    if format_ in _INT_BOUNDS:
        wanted, actual = (format_,), "float64"
    text = f"{path} in body must be of type {','.join(wanted)}: {shown(actual)}"
    causes = [] if whole and _is_nearly_whole(value) else [invalid_type(path, actual, text)]
    if whole:
        asked = f"with format {format_}" if format_ in _INT_BOUNDS else "(default format)"
        detail = f"Checked value must be of type integer {asked} in {path}"
        causes.append(invalid_value(_NO_FIELD, "", detail))
    return causes


def _names_the_format(schema: Schema, value: Any) -> bool:
    """
    Return whether an error about a value of the wrong type shows the schema's format instead of its type.

    If the value is a string, a list or null, the error always shows the type.
    """
    format_ = schema.get("format", "")
    return formats.is_known(format_) and isinstance(value, (bool, int, float, dict))


def _misformatted(schema: Schema, value: Any, path: str) -> list[Cause]:
    actual = _GO_FORMATS.get(type(value), "")
    return [invalid_type(path, actual, f"{path} in body must be of type {schema['format']}: {shown(actual)}")]


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    name = schema.get("type")
    return (name,) if name else ()


def _type_name(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and _is_int64(int(value)):
        return "integer"
    if isinstance(value, int) and not _is_int64(value):
        return "number"
    return "null" if value is None else structure.TYPE_NAMES[type(value)]


def _is_int64(value: int) -> bool:
    return -(2**63) <= value < 2**63


def _format_causes(schema: Schema, value: Any, path: str) -> list[Cause]:
    name = schema.get("format")
    if not name:
        return []
    if isinstance(value, str) and not formats.matches(name, value):
        return [invalid_type(path, value, f"{path} in body must be of type {name}: {shown(value)}")]
    if (
        name == "float"
        and schema.get("type") == "number"
        and isinstance(value, (int, float))
        and abs(value) > _MAX_FLOAT32
    ):
        text = f"Checked value must be of type number with format {name} in {path}"
        return [invalid_value(_NO_FIELD, "", text)]
    bound = _INT_BOUNDS.get(name) if schema.get("type") == "integer" else None
    if bound and isinstance(value, int) and not -bound <= value < bound:
        text = f"Checked value must be of type integer with format {name} in {path}"
        return [invalid_value(_NO_FIELD, "", text)]
    return []


def _string_causes(schema: Schema, value: str, path: str) -> list[Cause]:
    longest, shortest, pattern = (schema.get(key) for key in ("maxLength", "minLength", "pattern"))
    if longest is not None and len(value) > longest:
        return [too_long(path, longest)]
    if shortest is not None and len(value) < shortest:
        return [invalid_value(path, value, f"{path} in body should be at least {shortest} chars long")]
    if pattern and not go_regexp.matches(pattern, value):
        return [invalid_value(path, value, f"{path} in body should match '{pattern}'")]
    return []


def _number_causes(schema: Schema, value: float, path: str) -> list[Cause]:
    causes = []
    if _types(schema) and not {"integer", "number"} & set(_types(schema)):
        return []
    factor, high, low = (schema.get(key) for key in ("multipleOf", "maximum", "minimum"))
    if isinstance(value, int) and _is_int64(value):
        high, low, factor = (bound if bound is None else _go_int64(bound) for bound in (high, low, factor))
    if factor is not None:
        causes += _multiple_causes(value, factor, path)
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        causes.append(invalid_value(path, value, f"{path} in body should be {words} {_number(high)}"))
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        causes.append(invalid_value(path, value, f"{path} in body should be {words} {_number(low)}"))
    return causes


def _go_int64(bound: float) -> int:
    """Convert a bound to int64 as Go does: drop the fraction, and turn values out of range into -2**63."""
    return int(bound) if -(2**63) <= bound < 2**63 else -(2**63)


def _multiple_causes(value: float, factor: float, path: str) -> list[Cause]:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {_number(factor)}"
        return [invalid_value(path, factor, text)]
    if isinstance(value, int) and isinstance(factor, int):
        is_multiple = value % factor == 0
    else:
        quotient = 1 / factor * value if factor < 1 else value / factor
        is_multiple = (quotient.is_integer() and abs(quotient) < _EXACT) or _is_nearly_whole(quotient)
    text = f"{path} in body should be a multiple of {_number(factor)}"
    return [] if is_multiple else [invalid_value(path, value, text)]


def _is_nearly_whole(value: float) -> bool:
    """Return whether a number is at least 1 and nearly whole, as swag.IsFloat64AJSONInteger does."""
    whole = math.floor(value)
    return 1 <= value < _EXACT and (value - whole) / (value + whole) < _TOLERANCE


def _number(value: float) -> str:
    return str(int(value)) if not math.isinf(value) and value == int(value) else str(value)


def _enum_causes(schema: Schema, value: Any, path: str) -> list[Cause]:
    """Return the errors from an enum. Null is refused even if it is listed or the schema is nullable."""
    allowed = schema.get("enum")
    if not allowed:
        return []
    if any(_is_same(value, entry) for entry in allowed if entry is not None):
        return []
    return [not_supported(path, value, [_enum_text(entry) for entry in allowed])]


def _is_same(value: Any, entry: Any) -> bool:
    return bool(value == entry) and isinstance(value, bool) == isinstance(entry, bool)


def _enum_text(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def _list_causes(schema: Schema, value: list[Any], path: str, old: Any) -> list[Cause]:
    causes = []
    items = structure.items_of(schema)
    if items is not None:
        before, keys = elements(schema, old), structure.map_keys(schema)
        for index, entry in enumerate(value):
            was = before.get(identity(entry, keys), ABSENT) if before else ABSENT
            causes += _validate(items, entry, f"{path}[{index}]", was)
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if fewest is not None and len(value) < fewest:
        causes.append(invalid_value(path, len(value), f"{path} in body should have at least {fewest} items"))
    if most is not None and len(value) > most:
        causes.append(too_many(path, len(value), most))
    return causes


def _object_causes(schema: Schema, value: Mapping[str, Any], path: str, old: Any) -> list[Cause]:
    causes: list[Cause] = []
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if fewest is not None and len(value) < fewest:
        text = f"{path} in body should have at least {fewest} properties"
        causes.append(invalid_value(path, len(value), text))
    if most is not None and len(value) > most:
        causes.append(too_many(path, len(value), most))
    for name, entry in value.items():
        declared = structure.property_of(schema, name)
        if declared:
            where = _join(path, name) if name in structure.properties(schema) else f"{path}.{name}"
            causes += _validate(declared, entry, where, member(old, name))
    missing = (name for name in schema.get("required") or () if name not in value)
    return causes + [required(_join(path, name)) for name in missing]


def _combined(schema: Schema, value: Any, path: str, old: Any) -> list[Cause]:
    """Return the errors from a schema's allOf, anyOf, oneOf and not."""
    causes: list[Cause] = []
    if schema.get("anyOf"):
        causes += _any_of(schema["anyOf"], value, path, old)
    if schema.get("oneOf"):
        causes += _one_of(schema["oneOf"], value, path, old)
    if schema.get("allOf"):
        causes += _all_of(schema["allOf"], value, path, old)
    if schema.get("not") is not None and not _validate(schema["not"], value, path, old):
        causes.append(_whole(path, "must not validate the schema (not)"))
    return causes


def _any_of(branches: list[Schema], value: Any, path: str, old: Any) -> list[Cause]:
    found = [_validate(branch, value, path, old) for branch in branches]
    if not all(found):
        return []
    return [_whole(path, "must validate at least one schema (anyOf)"), *found[0]]


def _one_of(branches: list[Schema], value: Any, path: str, old: Any) -> list[Cause]:
    found = [_validate(branch, value, path, old) for branch in branches]
    valid = sum(not causes for causes in found)
    if valid == 1:
        return []
    text = "must validate one and only one schema (oneOf). Found "
    if valid:
        return [_whole(path, f"{text}{valid} valid alternatives")]
    return [_whole(path, f"{text}none valid"), *found[0]]


def _all_of(branches: list[Schema], value: Any, path: str, old: Any) -> list[Cause]:
    found = [_validate(branch, value, path, old) for branch in branches]
    causes = [cause for branch in found for cause in branch]
    if not causes:
        return []
    none = ". None validated" if all(found) else ""
    return [*causes, _whole(path, f"must validate all the schemas (allOf){none}")]


def _whole(path: str, text: str) -> Cause:
    return invalid_value(_NO_FIELD, "", f'"{path}" {text}')


def _duplicates(schema: Schema, value: list[Any], path: str) -> list[Cause]:
    """
    Return one error for each element that occurs more than once in a list of type set or map.

    The error's path is that of the second occurrence.
    """
    kind = structure.list_type(schema)
    if kind == "atomic":
        return []
    if kind == "map":
        for index, entry in enumerate(value):
            if entry is not None and not isinstance(entry, dict):
                text = "must be an object for an array of list-type map"
                return [invalid_value(f"{path}[{index}]", entry, text)]
    keys = sorted(structure.map_keys(schema))
    seen: list[Any] = []
    told: list[Any] = []
    causes = []
    for index, entry in enumerate(value):
        identity = {key: entry[key] for key in keys if key in (entry or ())} if kind == "map" else entry
        if identity not in seen:
            seen.append(identity)
        elif identity not in told:
            told.append(identity)
            causes.append(duplicate(f"{path}[{index}]", identity))
    return causes


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
