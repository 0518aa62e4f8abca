"""Each rule about one field: the cases of crdify's own table in our words, and those that it leaves open."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.compatibility.property_rules import changes, kind_of

_RULE = {"rule": "self.a < 5", "message": "m"}


def _found(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.rule, each.severity) for each in changes("spec.x", old, new)]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        # the same, and what only others would say
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 5}, []),
        ({"type": "string"}, {"type": "integer"}, [("type", "breaks")]),
        ({"type": "integer"}, {"x-kubernetes-int-or-string": True}, [("type", "warns")]),
        ({"x-kubernetes-int-or-string": True}, {"type": "integer"}, [("type", "breaks")]),
        ({"type": "integer"}, {"type": "number"}, [("type", "breaks")]),
        # enums
        ({}, {"enum": ["a"]}, [("enum", "breaks")]),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, [("enum", "breaks")]),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, [("enum", "warns")]),
        ({"enum": ["a", "b"]}, {"enum": ["a", "c"]}, [("enum", "breaks")]),
        ({"enum": ["a"]}, {}, [("enum", "warns")]),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, []),
        # bounds
        *(
            case
            for name in ("maximum", "maxItems", "maxLength", "maxProperties")
            for case in (
                ({}, {name: 5}, [(name, "breaks")]),
                ({name: 5}, {name: 4}, [(name, "breaks")]),
                ({name: 5}, {name: 6}, []),
                ({name: 5}, {}, []),
            )
        ),
        *(
            case
            for name in ("minimum", "minItems", "minLength", "minProperties")
            for case in (
                ({}, {name: 5}, [(name, "breaks")]),
                ({name: 5}, {name: 6}, [(name, "breaks")]),
                ({name: 5}, {name: 4}, []),
                ({name: 5}, {}, []),
            )
        ),
        ({"minimum": 1}, {"minimum": 1, "exclusiveMinimum": True}, [("minimum", "breaks")]),
        ({"maximum": 1, "exclusiveMaximum": True}, {"maximum": 1}, []),
        ({"multipleOf": 4}, {"multipleOf": 2}, []),
        ({"multipleOf": 2}, {"multipleOf": 4}, [("multipleOf", "breaks")]),
        # texts
        ({}, {"pattern": "a"}, [("pattern", "breaks")]),
        ({"pattern": "a"}, {"pattern": "b"}, [("pattern", "breaks")]),
        ({"pattern": "a"}, {}, [("pattern", "warns")]),
        ({}, {"format": "cidr"}, [("format", "breaks")]),
        ({"format": "cidr"}, {}, [("format", "warns")]),
        ({"format": "int32"}, {"format": "int64"}, []),
        ({}, {"format": "int64"}, []),
        ({}, {"format": "double"}, []),
        ({}, {"format": "int32"}, [("format", "breaks")]),
        ({"format": "int64"}, {"format": "int32"}, [("format", "breaks")]),
        # null and defaults
        ({}, {"nullable": True}, [("nullable", "warns")]),
        ({"nullable": True}, {}, [("nullable", "breaks")]),
        ({"nullable": False}, {}, []),
        ({}, {"default": 1}, [("default", "warns")]),
        ({"default": 1}, {}, [("default", "warns")]),
        ({"default": 1}, {"default": 2}, [("default", "warns")]),
        ({}, {"default": None}, [("default", "warns")]),
        # fields that must be given
        ({}, {"required": ["a"]}, [("required", "breaks")]),
        ({}, {"required": ["a"], "properties": {"a": {"default": 1}}}, [("required", "warns")]),
        ({"required": ["a", "b"]}, {"required": ["a"]}, []),
        # what is kept, and how lists and maps merge
        ({"x-kubernetes-preserve-unknown-fields": True}, {}, [("preserve-unknown-fields", "breaks")]),
        ({}, {"x-kubernetes-preserve-unknown-fields": True}, [("preserve-unknown-fields", "warns")]),
        ({"type": "string", "x-kubernetes-preserve-unknown-fields": True}, {"type": "string"}, []),
        ({"type": "string"}, {"type": "string", "x-kubernetes-preserve-unknown-fields": True}, []),
        ({}, {"x-kubernetes-list-type": "set"}, [("list-type", "breaks")]),
        ({"x-kubernetes-list-type": "set"}, {"x-kubernetes-list-type": "atomic"}, [("list-type", "warns")]),
        ({}, {"x-kubernetes-list-type": "atomic"}, []),
        ({}, {"x-kubernetes-map-type": "atomic"}, [("map-type", "warns")]),
        ({"x-kubernetes-map-type": "granular"}, {}, []),
        (
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
            [("list-type", "breaks")],
        ),
        # rules, branches, embedded objects
        ({"properties": {"b": {}}}, {"x-kubernetes-validations": [_RULE]}, [("rule", "warns")]),
        ({"properties": {"a": {}}}, {"x-kubernetes-validations": [_RULE]}, [("rule", "breaks")]),
        ({}, {"x-kubernetes-validations": [{"rule": "self < 5"}]}, [("rule", "breaks")]),
        ({"x-kubernetes-validations": [_RULE]}, {}, []),
        (
            {"x-kubernetes-validations": [_RULE]},
            {"x-kubernetes-validations": [{**_RULE, "message": "another"}]},
            [],
        ),
        ({}, {"not": {"required": ["a"]}}, [("not", "breaks")]),
        ({"anyOf": [{}]}, {}, [("anyOf", "warns")]),
        ({}, {"x-kubernetes-embedded-resource": True}, [("embedded-resource", "breaks")]),
        ({"x-kubernetes-embedded-resource": True}, {}, [("embedded-resource", "warns")]),
        # words
        ({"description": "a"}, {"description": "b"}, [("description", "warns")]),
        ({"title": "a"}, {}, [("description", "warns")]),
        ({}, {"x-something-new": 1}, [("unhandled", "warns")]),
        # each change is told
        (
            {"type": "string", "maxLength": 5, "default": "a"},
            {"type": "string", "maxLength": 4, "pattern": "a"},
            [("maxLength", "breaks"), ("pattern", "breaks"), ("default", "warns")],
        ),
    ],
)
def test_the_verdict_on_a_change(
    old: dict[str, Any], new: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    """What refuses or erases breaks; what somebody may have counted on warns."""
    assert _found(old, new) == found


def test_a_type_in_one_word() -> None:
    """A map is an object whose entries have any name."""
    assert kind_of({"type": "object", "additionalProperties": {"type": "string"}}) == "map"
    assert kind_of({"type": "object", "additionalProperties": True}) == "object"
    assert kind_of({}) == "anything"
