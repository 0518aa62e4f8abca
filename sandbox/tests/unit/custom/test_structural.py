from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom import structural
from handloop_sandbox.kinds import typed

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "s": {"type": "string"},
                "d": {"type": "string", "default": "D"},
                "nl": {"type": "string", "nullable": True, "default": "N"},
                "o": {
                    "type": "object",
                    "default": {"y": 1},
                    "properties": {"y": {"type": "integer"}, "w": {"type": "string", "default": "W"}},
                },
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"d": {"type": "string", "default": "D"}}},
                },
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "properties": {"d": {"type": "string"}}},
                },
                "free": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"known": {"type": "object", "properties": {"z": {"type": "integer"}}}},
                },
                "emb": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        }
    },
}


def _obj(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}, "spec": spec}


def test_pruning_drops_what_is_not_declared() -> None:
    """Unknown members go, at any depth and in lists and maps, and are named in order."""
    obj = {**_obj(s="x", zzz=1, list=[{"q": 1}], map={"k": {"q": 1}}), "extra": 1}
    pruned, unknown = structural.prune(_SCHEMA, obj)
    assert pruned["spec"] == {"s": "x", "list": [{}], "map": {"k": {}}}
    assert unknown == ["extra", "spec.list[0].q", "spec.map.k.q", "spec.zzz"]
    assert pruned["metadata"] == {"name": "a"}


def test_preserved_members_stay() -> None:
    """Where unknown fields are preserved they stay, but declared members below are still pruned."""
    pruned, unknown = structural.prune(_SCHEMA, _obj(free={"u": {"a": 1}, "known": {"z": 1, "q": 1}}))
    assert pruned["spec"]["free"] == {"u": {"a": 1}, "known": {"z": 1}}
    assert unknown == ["spec.free.known.q"]


def test_without_a_schema_nothing_is_declared() -> None:
    """A version without a schema keeps only what every object has."""
    pruned, unknown = structural.prune(None, _obj(s="x"))
    assert pruned == {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}}
    assert unknown == ["spec"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"d": "D", "nl": "N", "o": {"y": 1, "w": "W"}}),
        ({"o": {}}, {"d": "D", "nl": "N", "o": {"w": "W"}}),
        ({"d": None, "o": None}, {"d": "D", "nl": "N", "o": {"y": 1, "w": "W"}}),
        ({"nl": None, "s": None}, {"d": "D", "nl": None, "o": {"y": 1, "w": "W"}}),
        (
            {"list": [{}, {"d": None}]},
            {"d": "D", "nl": "N", "o": {"y": 1, "w": "W"}, "list": [{"d": "D"}] * 2},
        ),
    ],
)
def test_defaults_and_nulls(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    """Defaults fill in absent members; null is absent unless the schema makes it a value."""
    assert structural.default(_SCHEMA, _obj(**spec))["spec"] == expected


def test_defaults_are_not_shared() -> None:
    """Two objects never hold the same default value."""
    first, second = (structural.default(_SCHEMA, _obj()) for _ in range(2))
    assert first["spec"]["o"] is not second["spec"]["o"]


def test_metadata_is_decoded() -> None:
    """Metadata of custom resources is typed: unknown members are named, wrong types refused."""
    obj = {**_obj(), "metadata": {"name": "a", "bogus": 1, "labels": {"a": None}}}
    decoded, unknown = structural.decode_metadata(obj)
    assert decoded["metadata"] == {"name": "a", "labels": {"a": ""}}
    assert unknown == ["metadata.bogus"]
    with pytest.raises(typed.DecodeError, match=r"Go struct field ObjectMeta\.name of type string"):
        structural.decode_metadata({**_obj(), "metadata": {"name": 5}})


def test_what_null_means() -> None:
    """Null is a value where the schema is nullable, typed or not; elsewhere it is dropped, but in a list."""
    free = {"x-kubernetes-preserve-unknown-fields": True}
    properties = {
        "text": {"type": "string", "nullable": True},
        "free": {**free, "nullable": True},
        "bare": free,
        "either": {"x-kubernetes-int-or-string": True},
        "map": {"type": "object", "additionalProperties": free},
        "list": {"type": "array", "items": free},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    nulls = dict.fromkeys(("text", "free", "bare", "either"))
    spec = structural.default(schema, {"spec": {**nulls, "map": {"a": None}, "list": [None]}})["spec"]
    assert spec == {"text": None, "free": None, "map": {}, "list": [None]}
