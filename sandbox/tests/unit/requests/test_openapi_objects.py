from __future__ import annotations

from dataclasses import replace
from typing import Any

from handloop_sandbox.requests import openapi_objects
from support.builders.thing import THINGS

_EMBEDDED: dict[str, Any] = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["kind"]}


def test_embedded_objects_wherever_they_are() -> None:
    """In properties, lists and maps they get the members of objects, and require them once."""
    properties = {
        "list": {"type": "array", "items": _EMBEDDED},
        "map": {"type": "object", "additionalProperties": _EMBEDDED},
        "open": {"type": "object", "additionalProperties": True},
    }
    found = openapi_objects.custom(replace(THINGS, schema={"type": "object", "properties": properties}))
    for inner in (found["properties"]["list"]["items"], found["properties"]["map"]["additionalProperties"]):
        assert set(inner["properties"]) == {"apiVersion", "kind", "metadata"}
        assert inner["required"] == ["kind", "apiVersion"]
    assert found["properties"]["open"] == properties["open"]


def test_built_in_kinds() -> None:
    """Only the members that a kind has are described."""
    schema = {"type": "object", "properties": {"kind": {"type": "string"}, "spec": {}}}
    found = openapi_objects.described(schema)["properties"]
    assert list(found) == ["kind", "spec"]
    assert found["kind"]["description"].startswith("Kind is a string value")
