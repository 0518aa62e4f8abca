"""What is read of an OpenAPI document: the kind, its subresources, and what it refers to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.apis.resource import Resource
from handloop.client.errors import DecodeError, NoKindMatch
from handloop.client.published_schema import PublishedSchemas
from handloop.client.resource_client import Client
from support.doubles.scripted_transport import ScriptedTransport, answer

SITE = Resource("example.org", "v1", "sites", "Site")
TEXT = {"type": "string"}


def document(schemas: dict[str, Any], *paths: str) -> bytes:
    """One with these schemas and paths."""
    return json.dumps({"paths": {path: {} for path in paths}, "components": {"schemas": schemas}}).encode()


def site(group: str = "example.org", **fields: Any) -> dict[str, Any]:
    """The schema of a Site."""
    kind = {"group": group, "version": "v1", "kind": "Site"}
    return {"type": "object", "properties": fields, "x-kubernetes-group-version-kind": [kind]}


def like(**fields: Any) -> dict[str, Any]:
    """What it is held against."""
    return {"type": "object", "properties": fields}


def ref(name: str) -> dict[str, str]:
    """A reference."""
    return {"$ref": f"#/components/schemas/{name}"}


def found(schemas: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The fields of the Site of such a document."""
    kind = PublishedSchemas(document(schemas)).find(SITE, like(**fields))
    assert kind is not None
    return {**kind.schema["properties"]}


def test_a_kind_is_found_by_its_group_and_version() -> None:
    """Another group may have a kind of that name in the same document; a list is none."""
    schemas = {"a.Site": site("other.org", a=TEXT), "b.Site": site(b=TEXT), "b.SiteList": site(c=TEXT)}
    assert found(schemas) == {"b": TEXT}
    assert PublishedSchemas(document({"a.Site": site("other.org")})).find(SITE, like()) is None


def test_subresources_are_those_of_the_paths() -> None:
    """Of this plural alone."""
    root = "/apis/example.org/v1/namespaces/{namespace}"
    paths = (f"{root}/sites/{{name}}", f"{root}/sites/{{name}}/status", f"{root}/websites/{{name}}/scale")
    kind = PublishedSchemas(document({"b.Site": site()}, *paths)).find(SITE, like())
    assert kind is not None
    assert kind.subresources == {"status"}


def test_references_are_followed_as_far_as_they_are_asked_for() -> None:
    """By themselves, or in allOf beside a default; what the type lacks is only named."""
    schemas = {
        "b.Site": site(a=ref("Part"), b={"allOf": [ref("Part")], "default": {}}, c=ref("Nowhere")),
        "Part": {"type": "object", "properties": {"x": TEXT, "y": ref("Nowhere")}},
    }
    part = like(x=TEXT)
    fields = found(schemas, a=part, b=part)
    assert fields["a"] == schemas["Part"]
    assert fields["b"] == {**schemas["Part"], "default": {}}
    assert fields["c"] == ref("Nowhere")


def test_a_schema_that_holds_itself_or_anything_is_open() -> None:
    """JSONSchemaProps, RawExtension."""
    schemas = {
        "b.Site": site(tree=ref("Tree"), raw=ref("Raw"), amount=ref("Amount")),
        "Tree": like(left=ref("Tree")),
        "Raw": {"type": "object"},
        "Amount": {"oneOf": [TEXT, {"type": "number"}]},
    }
    fields = found(schemas, tree=like(left=like()), raw=like(x=TEXT), amount=TEXT)
    is_open = {"x-kubernetes-preserve-unknown-fields": True}
    assert fields["tree"]["properties"]["left"] == fields["raw"] == is_open
    assert fields["amount"] == schemas["Amount"]


def test_what_the_server_adds_is_left_out() -> None:
    """The two types of a number or a text, and what each object must have."""
    either = {"x-kubernetes-int-or-string": True}
    whole = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "required": ["kind", "spec", "apiVersion"],
    }
    schemas = {"b.Site": site(port={**either, "anyOf": [{"type": "integer"}, TEXT]}, parts={"items": whole})}
    fields = found(schemas, port=either, parts={"items": whole})
    assert fields == {"port": either, "parts": {"items": {**whole, "required": ["spec"]}}}


@pytest.mark.parametrize("body", [b"", b"[]", b'{"paths": 1}', b"\xff"])
def test_what_is_no_document_is_refused(body: bytes) -> None:
    """A proxy's page, for one."""
    with pytest.raises(DecodeError):
        PublishedSchemas(body)


@pytest.mark.parametrize(("group", "path"), [("", "api/v1"), ("example.org", "apis/example.org/v1")])
def test_it_is_asked_for_by_group_and_version(group: str, path: str) -> None:
    """And NoKindMatch is the caller's."""
    transport = ScriptedTransport([answer(200, document({})), answer(404, b"{}")])
    PublishedSchemas.fetch(Client(transport), group, "v1")
    with pytest.raises(NoKindMatch):
        PublishedSchemas.fetch(Client(transport), group, "v1")
    assert [each.path for each in transport.sent] == [f"/openapi/v3/{path}"] * 2
