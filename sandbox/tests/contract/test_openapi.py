"""The OpenAPI documents: their types, and what they say of a custom kind."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from support.builders.widgets import CRDS, wait_until_served, widget_definition
from support.servers.api_server import Answer, APIServer

_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_V3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
_JSON = "application/json"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_PROPERTIES: dict[str, Any] = {
    "size": {"type": "integer", "default": 3},
    "choice": {"type": "string", "nullable": True, "enum": ["=", None]},
    "port": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
    "free": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"a": {"type": "string"}},
    },
    "maybe": {"type": "array", "nullable": True, "items": {"type": "string"}},
    "map": {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
    "inner": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object"}},
    },
    "either": {"type": "object", "oneOf": [{"required": ["x"]}], "properties": {"x": {"type": "string"}}},
}


@pytest.fixture(scope="module")
def group(server: APIServer) -> Iterator[str]:
    """The group of a kind with these properties."""
    name = f"o{uuid.uuid4().hex[:8]}.contract.example.com"
    definition = widget_definition(name)
    version = definition["spec"]["versions"][0]
    version["selectableFields"] = [{"jsonPath": ".spec.size"}]
    version["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "description": "A widget.",
        "required": ["spec"],
        "properties": {"spec": {"type": "object", "required": ["choice", "size"], "properties": _PROPERTIES}},
    }
    assert server.create(CRDS, definition).status == 201
    wait_until_served(server, name, "widgets")
    yield name
    server.delete(f"{CRDS}/widgets.{name}")


@pytest.mark.parametrize(
    ("what", "title"), [("apis/{}/v1", "Kubernetes CRD Swagger"), ("apis/apps/v1", "Kubernetes")]
)
def test_a_document_names_who_serves_it(server: APIServer, group: str, what: str, title: str) -> None:
    """What comes from definitions has another title than what is built in."""
    path = f"/openapi/v3/{what.format(group)}"
    server.eventually(path, lambda answer: answer.status == 200 and answer.body["info"]["title"] == title)


@pytest.mark.parametrize(
    ("path", "accept", "found"),
    [
        ("/openapi/v2", _JSON, _JSON),
        ("/openapi/v2", "*/*", _JSON),
        ("/openapi/v2", _V2, _V2),
        ("/openapi/v2", _V2.replace(".v1.0", "@v1.0"), _V2),
        ("/openapi/v2", f"{_JSON};q=0.5, {_V2}", _V2),
        ("/openapi/v3/api/v1", _V3, _V3),
        ("/openapi/v3/api/v1", _V3.replace(".v1.0", "@v1.0"), _V3),
        ("/openapi/v3/api/v1", _JSON, _JSON),
        ("/openapi/v3", _V3, "text/plain; charset=utf-8"),
        ("/openapi/v3", "application/yaml", "text/plain; charset=utf-8"),
    ],
)
def test_the_type_asked_for(server: APIServer, path: str, accept: str, found: str) -> None:
    """Documents come as JSON and as protobuf, the index as it is."""
    answer = server.get(path, accept=accept)
    assert (answer.status, answer.content_type) == (200, found)


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/openapi/v2", "text/html"), ("/openapi/v2", _V3), ("/openapi/v3/api/v1", "application/yaml")],
)
def test_another_type(server: APIServer, path: str, accept: str) -> None:
    """Another type is refused without a word."""
    answer = server.get(path, accept=accept)
    assert (answer.status, answer.raw) == (406, b"")


def _schemas(answer: Answer) -> Any:
    return answer.body.get("definitions") or answer.body["components"]["schemas"]


def _until(server: APIServer, path: str, name: str) -> Any:
    """The schema of that name, once the server has published it."""
    return _schemas(
        server.eventually(path, lambda answer: answer.status == 200 and name in _schemas(answer))
    )[name]


def _name(group: str, kind: str = "Widget") -> str:
    return ".".join((*reversed(group.split(".")), "v1", kind))


def test_version_3(server: APIServer, group: str) -> None:
    """A kind is published as it was defined, with what every object has, in embedded ones, too."""
    found = _until(server, f"/openapi/v3/apis/{group}/v1", _name(group))
    own = found["properties"]
    meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    metadata = {
        "description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata",
        "allOf": [{"$ref": meta}],
    }
    assert own["metadata"] == metadata
    assert own["kind"]["description"].startswith("Kind is a string value representing the REST resource")
    assert own["apiVersion"]["description"].endswith(f"{_CONVENTIONS}#resources")
    inner = own["spec"]["properties"].pop("inner")
    assert own["spec"]["properties"] == {key: _PROPERTIES[key] for key in _PROPERTIES if key != "inner"}
    assert inner["required"] == ["kind", "apiVersion"]
    assert inner["properties"]["metadata"] == metadata
    assert inner["properties"]["kind"]["description"].startswith(
        "kind is a string value representing the type"
    )
    assert found["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.size"}]


def test_version_2(server: APIServer, group: str) -> None:
    """What kubectl's older reader would take too strictly is left out."""
    found = _until(server, "/openapi/v2", _name(group))
    spec = found["properties"]["spec"]
    inner = spec["properties"].pop("inner")
    assert spec["required"] == ["size"]
    assert spec["properties"] == {
        "size": {"type": "integer"},
        "choice": {"enum": ["=", None]},
        "port": {"x-kubernetes-int-or-string": True},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
        "maybe": {},
        "map": {"type": "object", "additionalProperties": {}},
        "either": {"type": "object", "properties": {"x": {"type": "string"}}},
    }
    assert inner["properties"]["metadata"] == {
        "description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata",
        "$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    }


def test_a_list(server: APIServer, group: str) -> None:
    """The schema of a list says of what."""
    found = _until(server, f"/openapi/v3/apis/{group}/v1", _name(group, "WidgetList"))
    assert found["description"] == "WidgetList is a list of Widget"
    assert found["properties"]["items"] == {
        "description": f"List of widgets. More info: {_CONVENTIONS}",
        "type": "array",
        "items": {"$ref": f"#/components/schemas/{_name(group)}"},
    }
    assert found["properties"]["metadata"] == {
        "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
        "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"}],
    }
