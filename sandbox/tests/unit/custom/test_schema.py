from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.custom import schema
from handloop_sandbox.wire.status import Cause

_PROPERTIES: dict[str, Any] = {
    "i": {
        "type": "integer",
        "minimum": 1,
        "exclusiveMinimum": True,
        "maximum": 9,
        "exclusiveMaximum": True,
        "multipleOf": 2,
    },
    "i32": {"type": "integer", "format": "int32"},
    "n": {"type": "number", "minimum": 0.5},
    "s": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a"},
    "e": {"type": "string", "enum": ["x", "y"]},
    "ei": {"type": "integer", "enum": [1, 2]},
    "b": {"type": "boolean"},
    "a": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
    "m": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 2,
        "additionalProperties": {"type": "integer"},
    },
    "dt": {"type": "string", "format": "date-time"},
    "ios": {"x-kubernetes-int-or-string": True},
    "one": {
        "type": "object",
        "properties": {"p": {"type": "string"}, "q": {"type": "string"}},
        "oneOf": [{"required": ["p"]}, {"required": ["q"]}],
    },
    "any": {"type": "object", "anyOf": [{"required": ["p"]}, {"required": ["q"]}]},
    "all": {"type": "object", "allOf": [{"required": ["p"]}, {"required": ["q"]}]},
    "not": {"type": "object", "not": {"required": ["p"]}},
    "emb": {"type": "object", "x-kubernetes-embedded-resource": True},
    "obj": {"type": "object", "required": ["r"], "properties": {"r": {"type": "string"}}},
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": _PROPERTIES}},
}


def _causes(spec: Any) -> list[tuple[str, str, str]]:
    return [(cause.reason, cause.message, cause.field) for cause in _found(spec)]


def _found(spec: Any) -> list[Cause]:
    return schema.validate(_SCHEMA, {"spec": spec})


_INVALID, _TYPE = "FieldValueInvalid", "FieldValueTypeInvalid"


def _said(field: str, value: str, text: str, reason: str = _INVALID) -> tuple[str, str, str]:
    """A value in the body and what it should have been."""
    return reason, f"Invalid value: {value}: {field} in body {text}", field


def _misfit(field: str, wanted: str, given: str) -> tuple[str, str, str]:
    """A value of another type; formats are named by their text."""
    return _said(field, f'"{given}"', f'must be of type {wanted}: "{given}"', _TYPE)


def _nowhere(text: str) -> tuple[str, str, str]:
    """What is wrong with no field of its own."""
    return _INVALID, f'Invalid value: "": {text}', "<nil>"


def _missing(field: str) -> tuple[str, str, str]:
    return "FieldValueRequired", "Required value", field


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"i": 4}, []),
        (
            {"i": 9},
            [
                _said("spec.i", "9", "should be a multiple of 2"),
                _said("spec.i", "9", "should be less than 9"),
            ],
        ),
        (
            {"i": 2.5},
            [
                _misfit("spec.i", "integer", "number"),
                _nowhere("Checked value must be of type integer (default format) in spec.i"),
                _said("spec.i", "2.5", "should be a multiple of 2"),
            ],
        ),
        (
            {"i32": 2**31},
            [_nowhere("Checked value must be of type integer with format int32 in spec.i32")],
        ),
        ({"n": 1}, []),
        ({"n": 0.1}, [_said("spec.n", "0.1", "should be greater than or equal to 0.5")]),
        ({"s": "ab"}, []),
        ({"s": "z"}, [_said("spec.s", '"z"', "should be at least 2 chars long")]),
        ({"s": "abcde"}, [("FieldValueTooLong", "Too long: may not be more than 4 bytes", "spec.s")]),
        ({"s": "bcd"}, [_said("spec.s", '"bcd"', "should match '^a'")]),
        ({"s": "aééé"}, []),
        (
            {"e": "z"},
            [("FieldValueNotSupported", 'Unsupported value: "z": supported values: "x", "y"', "spec.e")],
        ),
        (
            {"ei": 3},
            [("FieldValueNotSupported", 'Unsupported value: 3: supported values: "1", "2"', "spec.ei")],
        ),
        ({"b": 1}, [_misfit("spec.b", "boolean", "integer")]),
        ({"a": []}, [_said("spec.a", "0", "should have at least 1 items")]),
        ({"a": [1, 2, 3]}, [("FieldValueTooMany", "Too many: 3: must have at most 2 items", "spec.a")]),
        ({"a": ["x"]}, [_misfit("spec.a[0]", "integer", "string")]),
        ({"m": {}}, [_said("spec.m", "0", "should have at least 1 properties")]),
        (
            {"m": {"a": 1, "b": 2, "c": "x"}},
            [
                ("FieldValueTooMany", "Too many: 3: must have at most 2 items", "spec.m"),
                _misfit("spec.m.c", "integer", "string"),
            ],
        ),
        ({"m": {"a": "x"}}, [_misfit("spec.m.a", "integer", "string")]),
        ({"dt": "x"}, [_misfit("spec.dt", "date-time", "x")]),
        ({"ios": 5}, []),
        ({"ios": "x"}, []),
        ({"ios": True}, [_misfit("spec.ios", "integer,string", "boolean")]),
        ({"one": {"p": "a"}}, []),
        ({"one": None}, [_misfit("spec.one", "object", "null")]),
        (
            {"one": {"p": "a", "q": "b"}},
            [
                _nowhere(
                    '"spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives'
                )
            ],
        ),
        (
            {"any": {}},
            [_nowhere('"spec.any" must validate at least one schema (anyOf)'), _missing("spec.any.p")],
        ),
        (
            {"all": {}},
            [
                _missing("spec.all.p"),
                _missing("spec.all.q"),
                _nowhere('"spec.all" must validate all the schemas (allOf). None validated'),
            ],
        ),
        ({"not": {"p": 1}}, [_nowhere('"spec.not" must not validate the schema (not)')]),
        ({"obj": {}}, [_missing("spec.obj.r")]),
        ([], [_misfit("spec", "object", "array")]),
    ],
)
def test_the_servers_words(spec: Any, causes: list[tuple[str, str, str]]) -> None:
    """Errors are worded as on a real server, recorded from one."""
    assert _causes(spec) == causes


def test_a_prefix_is_for_the_field_alone() -> None:
    """The status is validated by itself: its texts have no prefix, its fields do."""
    inner = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    (cause,) = schema.validate(inner, {"replicas": "two"}, prefix="status")
    assert cause.field == "status.replicas"
    assert cause.message == 'Invalid value: "string": replicas in body must be of type integer: "string"'


def test_duplicates_in_sets_and_maps() -> None:
    """Elements that occur again are named by position, with the keys that make them equal."""
    sets = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    assert [cause.field for cause in schema.validate_lists(sets, ["a", "b", "a"], "x")] == ["x[2]"]
    maps = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k", "l"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "l": {"type": "integer"}}},
    }
    entries = [{"k": "a", "l": 1}, {"k": "a", "l": 2}, {"k": "a", "l": 1, "v": 3}]
    (cause,) = schema.validate_lists({"type": "object", "properties": {"x": maps}}, {"x": entries})
    assert (cause.field, cause.message) == ("x[2]", 'Duplicate value: {"k":"a","l":1}')
    keyed = {"type": "object", "additionalProperties": sets}
    assert [cause.field for cause in schema.validate_lists(keyed, {"k": ["a", "a"]}, "x")] == ["x[k][1]"]
    atomic = {"type": "array", "items": {"type": "string"}}
    assert schema.validate_lists(atomic, ["a", "a"]) == []


_SCALARS = st.none() | st.booleans() | st.integers(-3, 12) | st.text("ab", max_size=6)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
    max_leaves=6,
)
_ORACLE = {
    "type": "object",
    "required": ["p"],
    "properties": {
        "p": {"type": "integer", "minimum": 0, "maximum": 10, "multipleOf": 2},
        "q": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "maxLength": 3}},
        "r": {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "boolean"}], "not": {"enum": ["ab"]}},
    },
    "maxProperties": 2,
}


@given(_VALUES)
def test_it_agrees_with_json_schema(value: Any) -> None:
    """A value is valid exactly when a JSON Schema validator finds it so."""
    assert (schema.validate(_ORACLE, value) == []) is jsonschema.Draft7Validator(_ORACLE).is_valid(value)


_TENTHS: dict[str, Any] = {"type": "number", "multipleOf": 0.1}
_NULLABLE: dict[str, Any] = {"type": "string", "enum": ["a", None], "nullable": True}


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        (_NULLABLE, None, 'Unsupported value: null: supported values: "a", "null"'),
        ({"type": "number", "minimum": 2.5}, 2, None),
        ({"type": "number", "minimum": 2.5}, 2.4, "2.4: p in body should be greater than or equal to 2.5"),
        (_TENTHS, 0.3, None),
        (_TENTHS, 1e300, "1e+300: p in body should be a multiple of 0.1"),
        (_TENTHS, 3, "0: factor MultipleOf declared for p must be positive: 0"),
        ({"type": "number", "multipleOf": 0.5}, 1.0000000001, None),
        (
            {"type": "integer"},
            1.0000000001,
            '"": Checked value must be of type integer (default format) in p',
        ),
    ],
)
def test_where_go_is_not_exact(part: dict[str, Any], value: Any, message: str | None) -> None:
    """No null in an enum, whole numbers against bounds without fraction, a tolerance for fractions."""
    found = schema.validate({"type": "object", "properties": {"p": part}}, {"p": value})
    told = [cause.message.removeprefix("Invalid value: ") for cause in found]
    assert told == ([message] if message else [])
