from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom.expression_rules import expression_causes, what_is_wrong

_OBJECT = {"type": "object", "properties": {"b": {"type": "string", "maxLength": 9}}}


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
        {"rule": "oldSelf.hasValue()", "optionalOldSelf": True},
        {"rule": "self.b ==\n ''", "message": "m"},
    ],
)
def test_rules_that_are_fine(rule: dict[str, Any]) -> None:
    """Messages, reasons and paths that are there."""
    assert _said_of_rules(rule) == []


@pytest.mark.parametrize(
    ("rule", "where", "message"),
    [
        ({"rule": "self.c == 1"}, ".rule", "1:5: undefined field 'c'"),
        ({"rule": "self.b"}, ".rule", "cel expression must evaluate to a bool"),
        ({"messageExpression": "1"}, ".messageExpression", "messageExpression must evaluate to a string"),
        (
            {"messageExpression": "self +"},
            ".messageExpression",
            "1:7: Syntax error: mismatched input '<EOF>'",
        ),
        ({"optionalOldSelf": True}, ".optionalOldSelf", "may not be set if oldSelf is not used in rule"),
    ],
)
def test_rules_that_are_wrong(rule: dict[str, Any], where: str, message: str) -> None:
    """The complaint is at the member that is wrong."""
    ((field, said),) = _said_of_rules(rule)
    assert field == where
    assert message in said


def test_elements_with_keys_have_old_selves() -> None:
    """A rule of theirs may compare, of other elements none."""
    node = {"type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    keyed = {"type": "array", "maxItems": 5, "items": node, "x-kubernetes-list-type": "map"}
    assert expression_causes("s", keyed) == []
    (cause,) = expression_causes("s", {**keyed, "x-kubernetes-list-type": "set"})
    assert cause.message.endswith(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within s"
    )


def test_costs_add_up() -> None:
    """A list without a limit costs too much; all rules together may, too, and the dearest are named."""
    text = {"type": "string", "maxLength": 1000, "x-kubernetes-validations": [{"rule": "self.contains('b')"}]}
    (one, shared, whole) = expression_causes("s", {"type": "array", "items": text})
    assert one.message.startswith("Forbidden: estimated rule cost exceeds budget by factor of ")
    assert shared.field == one.field == "s.items.x-kubernetes-validations[0].rule"
    assert whole.field == "s"
    below = {"type": "array", "maxItems": 20_000, "items": text}
    assert expression_causes("s", below) == []
    many = {"type": "object", "properties": dict.fromkeys("abcdefghijklm", below)}
    *named, last = expression_causes("s", many)
    assert [cause.message.partition(" to ")[0] for cause in named] == ["Forbidden: contributed"] * 4
    assert " schema exceeds budget by factor of 1." in last.message


def test_what_is_wrong_below_keeps_expressions_from_being_looked_at() -> None:
    """They would be judged by a schema that is none."""
    schema = {**_OBJECT, "x-kubernetes-validations": [{"rule": "self =="}, {"rule": " "}]}
    (cause,) = expression_causes("s", schema)
    assert cause.message == "Required value: rule is not specified"


def test_what_is_wrong_with_a_rule() -> None:
    """The same words for a default's sake; of what expressions do not see nothing."""
    assert what_is_wrong({"type": "string"}, {"rule": "self == 'a'"}) == ""
    assert what_is_wrong({}, {"rule": "self =="}) == ""
    assert what_is_wrong({"type": "string"}, {"rule": "self"}) == "cel expression must evaluate to a bool"
