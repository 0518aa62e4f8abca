from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.custom import embedded
from handloop_sandbox.kinds import typed

_EMBEDDED: dict[str, Any] = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "emb": _EMBEDDED,
                "list": {"type": "array", "items": _EMBEDDED},
                "map": {"type": "object", "additionalProperties": _EMBEDDED},
            },
        }
    },
}


def test_embedded_metadata_is_decoded_too() -> None:
    """The metadata of an embedded resource is typed; its own unknown members are named with their path."""
    unknown: list[str] = []
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namex": 5}, "any": 1}
    obj = embedded.decode(_SCHEMA, {"spec": {"emb": pod}}, unknown)
    assert obj["spec"]["emb"] == {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "any": 1}
    embedded.decode(_SCHEMA, {"spec": {"map": {"k": pod}}}, unknown)
    assert unknown == ["spec.emb.metadata.namex", "spec.map[k].metadata.namex"]
    with pytest.raises(
        typed.DecodeError, match=r'spec\.emb\.metadata: Invalid value: {"name":5}: json: cannot'
    ):
        embedded.decode(_SCHEMA, {"spec": {"emb": {"metadata": {"name": 5}}}}, [])


def test_its_type_is_a_text() -> None:
    """Anything else does not decode."""
    with pytest.raises(typed.DecodeError, match=r"spec\.emb\.kind: Invalid value: 5: must be a string"):
        embedded.decode(_SCHEMA, {"spec": {"emb": {"apiVersion": "v1", "kind": 5}}}, [])


def test_every_embedded_resource_is_found() -> None:
    """In lists, too, with its path."""
    pod = {"apiVersion": "v1", "kind": "Pod"}
    obj = {"spec": {"emb": pod, "list": [pod, {}]}}
    assert [path for path, _ in embedded.found(_SCHEMA, obj)] == ["spec.emb", "spec.list[0]", "spec.list[1]"]


@pytest.mark.parametrize(
    ("resource", "fields"),
    [
        ({"apiVersion": "g.io/v1", "kind": "MyKind"}, []),
        ({}, ["a.apiVersion", "a.kind"]),
        ({"apiVersion": "", "kind": ""}, ["a.apiVersion", "a.kind"]),
        ({"apiVersion": "a/b/c", "kind": "no kind"}, ["a.apiVersion", "a.kind"]),
    ],
)
def test_what_is_wrong_with_its_type(resource: dict[str, Any], fields: list[str]) -> None:
    """Both members are needed, and have a form."""
    assert [cause.field for cause in embedded.type_causes("a", resource)] == fields
