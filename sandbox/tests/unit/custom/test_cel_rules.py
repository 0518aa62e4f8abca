from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom import cel_rules


def _rule(rule: str, **more: Any) -> list[dict[str, Any]]:
    return [{"rule": rule, **more}]


_ITEM = {
    "type": "object",
    "properties": {
        "n": {"type": "string"},
        "v": {
            "type": "integer",
            "x-kubernetes-validations": _rule("self >= oldSelf", message="may not shrink"),
        },
    },
    "x-kubernetes-validations": _rule("self.v != 7", message="not seven", fieldPath=".v"),
}
_SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "nomsg": {"type": "integer", "x-kubernetes-validations": _rule("self > 5")},
        "req": {
            "type": "string",
            "x-kubernetes-validations": _rule("self != ''", reason="FieldValueRequired", message="need it"),
        },
        "dup": {
            "type": "string",
            "x-kubernetes-validations": _rule("self != 'd'", reason="FieldValueDuplicate"),
        },
        "list": {
            "type": "array",
            "x-kubernetes-validations": _rule("size(self) < 2"),
            "items": {"type": "integer"},
        },
        "objs": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n"],
            "items": _ITEM,
        },
        "err": {"type": "object", "x-kubernetes-validations": _rule("1 / 0 == 1", message="never")},
        "opt": {
            "type": "string",
            "x-kubernetes-validations": _rule(
                "!oldSelf.hasValue() || oldSelf.value() == self", optionalOldSelf=True, message="set once"
            ),
        },
        "map": {
            "type": "object",
            "additionalProperties": {
                "type": "integer",
                "x-kubernetes-validations": _rule("self != 7", message="not seven"),
            },
        },
        "me": {
            "type": "integer",
            "x-kubernetes-validations": _rule(
                "self < 3", messageExpression="'me is ' + (self > 3 ? 'big' : 'odd')"
            ),
        },
    },
}
_SCHEMA = {"type": "object", "properties": {"spec": _SPEC}}
_OLD = {"spec": {"objs": [{"n": "a", "v": 5}, {"n": "b", "v": 5}], "opt": "a"}}


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"nomsg": 3}, ("FieldValueInvalid", "spec.nomsg", "Invalid value: 3: failed rule: self > 5")),
        ({"req": ""}, ("FieldValueRequired", "spec.req", "Required value: need it")),
        ({"dup": "d"}, ("FieldValueDuplicate", "spec.dup", 'Duplicate value: "d"')),
        ({"list": [1, 2]}, ("FieldValueInvalid", "spec.list", "Invalid value: failed rule: size(self) < 2")),
        ({"objs": [{"n": "z", "v": 7}]}, ("FieldValueInvalid", "spec.objs[0].v", "Invalid value: not seven")),
        (
            {"err": {}},
            (
                "FieldValueInvalid",
                "spec.err",
                'Invalid value: "object": division by zero evaluating rule: never',
            ),
        ),
        ({"me": 5}, ("FieldValueInvalid", "spec.me", "Invalid value: 5: me is big")),
        (
            {"objs": [{"n": "a", "v": 4}]},
            ("FieldValueInvalid", "spec.objs[0].v", "Invalid value: 4: may not shrink"),
        ),
        ({"map": {"a/b": 7}}, ("FieldValueInvalid", "spec.map[a/b]", "Invalid value: 7: not seven")),
        ({"opt": "b"}, ("FieldValueInvalid", "spec.opt", 'Invalid value: "b": set once')),
    ],
)
def test_the_servers_words(spec: dict[str, Any], cause: tuple[str, str, str]) -> None:
    """A failed rule names field, reason and message as recorded from a real server."""
    found = cel_rules.check(_SCHEMA, {"spec": spec}, _OLD).causes
    assert [(entry.reason, entry.field, entry.message) for entry in found] == [cause]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"nomsg": 6, "req": "x", "dup": "x", "list": [1]},
        {"objs": [{"n": "c", "v": 1}, {"n": "b", "v": 6}]},
        {"opt": "a"},
    ],
)
def test_rules_that_hold(spec: dict[str, Any]) -> None:
    """New elements have nothing to compare with; the others are found by their keys."""
    assert cel_rules.check(_SCHEMA, {"spec": spec}, _OLD).causes == []


def test_a_new_object_has_no_before() -> None:
    """Transition rules are skipped for a new object, unless they ask for an optional before."""
    spec = {"objs": [{"n": "a", "v": 1}], "opt": "x"}
    assert cel_rules.check(_SCHEMA, {"spec": spec}, None).causes == []


def test_no_rule_is_evaluated_on_null() -> None:
    """Null is no number that could be compared."""
    part = {"type": "number", "nullable": True, "x-kubernetes-validations": _rule("self < 1.5")}
    assert cel_rules.check({"type": "object", "properties": {"p": part}}, {"p": None}, None).causes == []
