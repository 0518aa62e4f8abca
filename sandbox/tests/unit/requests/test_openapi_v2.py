from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests import openapi_v2
from handloop_sandbox.storage.catalog import Catalog

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer", "nullable": True}}},
        "port": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
    },
}
_PODS = next(resource for resource in builtin_resources() if resource.plural == "pods")
_WIDGETS = replace(
    _PODS, group="example.org", plural="widgets", kind="Widget", custom=True, schema=_SCHEMA, subresources=()
)


def _document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(openapi_v2.document(Catalog((*builtin_resources(), _WIDGETS))))
    return found


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(_references(child) for child in value.values()))
    if isinstance(value, list):
        return set().union(*(_references(child) for child in value))
    return set()


def test_every_reference_leads_somewhere() -> None:
    """References point into definitions, and all of them are there."""
    document = _document()
    found = _references({"paths": document["paths"], "definitions": document["definitions"]})
    assert found
    assert found <= {f"#/definitions/{name}" for name in document["definitions"]}


def test_kinds_and_operations() -> None:
    """A kind is found by its definition, a patch by its content types and query parameters."""
    document = _document()
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    assert document["definitions"]["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"] == [kind]
    patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "application/apply-patch+yaml" in patch["consumes"]
    parameters = {parameter["name"]: parameter for parameter in patch["parameters"]}
    assert parameters["force"]["type"] == "boolean"
    assert parameters["body"]["in"] == "body"


def test_what_version_2_does_not_know() -> None:
    """A type beside nullable and anyOf of a custom resource are left out, what it does know stays."""
    properties = _document()["definitions"]["org.example.v1.Widget"]["properties"]
    assert properties["spec"]["properties"]["size"] == {}
    assert properties["port"] == {"x-kubernetes-int-or-string": True}
    assert properties["metadata"]["$ref"].endswith("ObjectMeta")
