from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom.schema_rules import default_causes, expression_causes, schema_causes

_SPEC = "s.properties[x]"
_NO_DEFAULT = (
    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
)


def _said(node: dict[str, Any], **root: Any) -> list[tuple[str, str]]:
    schema = {"type": "object", "properties": {"x": node}, **root}
    return [(cause.field, cause.message) for cause in schema_causes("s", schema)]


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "default": "a"},
        {"type": "integer", "minimum": 0},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a"],
            "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
        },
        {"type": "object", "additionalProperties": {"type": "string"}},
    ],
)
def test_structural_schemas_are_fine(node: dict[str, Any]) -> None:
    """Types everywhere, lists with items, keys that are there."""
    assert _said(node) == []


@pytest.mark.parametrize(
    ("node", "field", "message"),
    [
        ({}, f"{_SPEC}.type", "Required value: must not be empty for specified object fields"),
        ({"type": "array"}, f"{_SPEC}.items", "Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            f"{_SPEC}.items.type",
            "Required value: must not be empty for specified array items",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"},
            f"{_SPEC}.x-kubernetes-list-map-keys",
            "Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
            },
            f"{_SPEC}.items.properties[a].default",
            f"Required value: {_NO_DEFAULT}",
        ),
    ],
)
def test_what_is_not_structural(node: dict[str, Any], field: str, message: str) -> None:
    """The place and the real server's words."""
    assert (field, message) in _said(node)


def test_the_root_is_an_object() -> None:
    """Of no other type, and with members that are named."""
    said = [(cause.field, cause.message) for cause in schema_causes("s", {"type": "string"})]
    assert ("s.type", 'Invalid value: "string": must be object at the root') in said
    said = _said({"type": "string"}, additionalProperties={"type": "string"})
    assert ("s.additionalProperties", "Forbidden: must not be used at the root") in said


@pytest.mark.parametrize(
    ("node", "wrong"),
    [
        ({"type": "string", "default": 5}, True),
        ({"type": "integer", "default": "5"}, True),
        ({"type": "integer", "default": 5}, False),
        ({"type": "boolean", "default": True}, False),
    ],
)
def test_defaults_fit_their_type(node: dict[str, Any], wrong: bool) -> None:
    """A default that the schema itself refuses is not used."""
    assert bool(_said(node)) is wrong
    if wrong:
        assert _said(node)[0][0] == f"{_SPEC}.default"


def test_everything_is_reported_at_once() -> None:
    """In the order of the fields."""
    node = {"type": "object", "properties": {"b": {}, "a": {"type": "array"}}}
    assert [field for field, _ in _said(node)] == [
        f"{_SPEC}.properties[a].items",
        f"{_SPEC}.properties[b].type",
    ]


_TEXT = {"type": "string"}


def _said_of_default(node: dict[str, Any]) -> list[tuple[str, str]]:
    schema = {"type": "object", "properties": {"x": node}}
    return [(cause.field, cause.message) for cause in default_causes("s", schema)]


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "default": "a"},
        {"x-kubernetes-int-or-string": True, "default": True},
        {"type": "object", "default": {"a": "b"}, "additionalProperties": _TEXT},
        {"type": "array", "items": {"type": "object", "properties": {"a": {**_TEXT, "default": "b"}}}},
    ],
)
def test_defaults_that_fit(node: dict[str, Any]) -> None:
    """A default is a value of its schema, wherever it is."""
    assert _said_of_default(node) == []


@pytest.mark.parametrize(
    ("node", "where", "text"),
    [
        (
            {"type": "string", "default": 5},
            "",
            'Invalid value: "integer":  in body must be of type string: "integer"',
        ),
        (
            {"type": "integer", "default": 5, "maximum": 3},
            "",
            "Invalid value: 5:  in body should be less than or equal to 3",
        ),
        (
            {"type": "object", "default": {"y": 5}, "properties": {"y": _TEXT}},
            ".y",
            'Invalid value: "integer": y in body must be of type string: "integer"',
        ),
        ({"type": "object", "default": {"z": 1}}, "", 'Invalid value: {"z":1}: must not have unknown fields'),
        (
            {"type": "string", "default": "long", "x-kubernetes-validations": [{"rule": "size(self) < 3"}]},
            "",
            'Invalid value: "long": failed rule: size(self) < 3',
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}, "default": {"x": "y"}},
            ".x",
            'Invalid value: "string": .x in body must be of type integer: "string"',
        ),
    ],
)
def test_defaults_that_do_not(node: dict[str, Any], where: str, text: str) -> None:
    """The error of a schema's default names the fault, and its place."""
    assert _said_of_default(node) == [(f"s.properties[x].default{where}", text)]


def test_the_metadata_has_no_default() -> None:
    """It is the server's."""
    schema = {"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}}
    (cause,) = default_causes("s", schema)
    assert cause.message == "Forbidden: must not be set in top-level metadata"


_UNDECLARED = "compilation failed: undeclared reference to"
_OBJECT = {"type": "object", "properties": {"b": {"type": "string"}}}


def _said_of_rules(rule: dict[str, Any]) -> list[tuple[str, str]]:
    schema = {**_OBJECT, "x-kubernetes-validations": [{"rule": "self.b == ''", **rule}]}
    causes = expression_causes("s", schema)
    return [(cause.field.removeprefix("s.x-kubernetes-validations[0]"), cause.message) for cause in causes]


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"message": "m", "messageExpression": "'x'", "reason": "FieldValueForbidden", "fieldPath": ".b"},
        {"fieldPath": "['b']"},
        {"rule": "self == oldSelf", "optionalOldSelf": True},
        {"rule": "self.b ==\n ''", "message": "m"},
    ],
)
def test_rules_that_are_fine(rule: dict[str, Any]) -> None:
    """Messages, reasons and paths that are there."""
    assert _said_of_rules(rule) == []


@pytest.mark.parametrize(
    ("rule", "where", "text"),
    [
        ({"rule": " "}, ".rule", "Required value: rule is not specified"),
        (
            {"rule": "math.greatest(1, 2) > 1"},
            ".rule",
            f"Invalid value: \"math.greatest(1, 2) > 1\": {_UNDECLARED} 'math' (in container '')",
        ),
        (
            {"rule": "cel.bind(x, 3, x > 2)"},
            ".rule",
            f"Invalid value: \"cel.bind(x, 3, x > 2)\": {_UNDECLARED} 'cel' (in container '')",
        ),
        ({"message": " "}, ".message", 'Invalid value: " ": must be non-empty if specified'),
        ({"message": "a\nb"}, ".message", 'Invalid value: "a\\nb": must not contain line breaks'),
        (
            {"rule": "self.b ==\n ''"},
            ".message",
            "Required value: message must be specified if rule contains line breaks",
        ),
        (
            {"messageExpression": " "},
            ".messageExpression",
            "Required value: messageExpression must be non-empty if specified",
        ),
        ({"fieldPath": "b"}, ".fieldPath", 'Invalid value: "b": must be a valid path'),
        ({"fieldPath": ".z"}, ".fieldPath", 'Invalid value: ".z": must be a valid path'),
        (
            {"optionalOldSelf": True},
            ".optionalOldSelf",
            "Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ],
)
def test_rules_that_are_not(rule: dict[str, Any], where: str, text: str) -> None:
    """Each member of a rule has its own rules."""
    assert _said_of_rules(rule) == [(where, text)]


def test_reasons_are_listed() -> None:
    """A reason is one of four."""
    ((where, text),) = _said_of_rules({"reason": "Odd"})
    assert where == ".reason"
    assert text.endswith('"FieldValueInvalid", "FieldValueRequired"')


def test_what_was_before_has_to_be_known() -> None:
    """Elements of a list that is no map have no old selves; those of maps of values do."""
    node = {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    (cause,) = expression_causes("s", {"type": "array", "items": node})
    assert cause.message.endswith(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within s"
    )
    assert expression_causes("s", {"type": "object", "additionalProperties": node}) == []
    keyed = {"type": "array", "items": node, "x-kubernetes-list-type": "map"}
    assert expression_causes("s", keyed) == []
