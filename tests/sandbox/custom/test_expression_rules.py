from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.custom.expression_rules import expression_causes

_UNDECLARED = "compilation failed: undeclared reference to"
_OBJECT = {"type": "object", "properties": {"b": {"type": "string"}}}


def _said(rule: dict[str, Any]) -> list[tuple[str, str]]:
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
    assert _said(rule) == []


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
    assert _said(rule) == [(where, text)]


def test_reasons_are_listed() -> None:
    """A reason is one of four."""
    ((where, text),) = _said({"reason": "Odd"})
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
