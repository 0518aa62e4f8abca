"""
Describes apiVersion, kind and metadata in the OpenAPI schemas of objects, embedded objects and lists.

Follows: apiextensions pkg/controller/openapi/builder/builder.go (buildKubeNative, addEmbeddedProperties,
buildListSchema).
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.wire.resource import ServedResource

Document = dict[str, Any]

COMPONENTS: Final = "#/components/schemas/"
OBJECT_META: Final = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META: Final = "apimachinery.pkg.apis.meta.v1.ListMeta"
_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"


def _described(words: str, anchor: str, reference: str = "") -> Document:
    """Return the schema of a string, or a reference to another schema, with a description."""
    said = {"description": f"{words} More info: {_CONVENTIONS}#{anchor}"}
    if reference:
        return {**said, "allOf": [{"$ref": f"{COMPONENTS}io.k8s.{reference}"}]}
    return {**said, "type": "string"}


_TYPE_META: Final[Document] = {
    "apiVersion": _described(
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert "
        "recognized schemas to the latest internal value, and may reject unrecognized values.",
        "resources",
    ),
    "kind": _described(
        "Kind is a string value representing the REST resource this object represents. Servers may infer "
        "this from the endpoint the client submits requests to. Cannot be updated. In CamelCase.",
        "types-kinds",
    ),
}
_METADATA: Final = _described("Standard object's metadata.", "metadata", OBJECT_META)
_LIST_METADATA: Final = _described("Standard list metadata.", "types-kinds", LIST_META)
_EMBEDDED: Final[Document] = {
    "apiVersion": _described(
        "apiVersion defines the versioned schema of this representation of an object.", "resources"
    ),
    "kind": _described(
        "kind is a string value representing the type of this object. In CamelCase.", "types-kinds"
    ),
    "metadata": _METADATA,
}


def described(schema: Document) -> Document:
    """Return the schema of a built-in kind, with descriptions of apiVersion, kind and metadata."""
    own: Document = schema.get("properties", {})
    said = {**_TYPE_META, "metadata": _METADATA}
    return {**schema, "properties": {**own, **{key: said[key] for key in said if key in own}}}


def custom(resource: ServedResource) -> Document:
    """Return the schema of a custom kind."""
    schema = dict(resource.schema or {"x-kubernetes-preserve-unknown-fields": True})
    found = _with_embedded(schema)
    properties = {**found.get("properties", {}), **_TYPE_META, "metadata": _METADATA}
    return {**found, "type": "object", "properties": properties, **_selectable(resource)}


def listing(resource: ServedResource, name: str) -> Document:
    """Return the schema of a resource's list, whose items refer to the schema with this name."""
    reference = {"$ref": f"{COMPONENTS}{name}"}
    items: Document = {"type": "array", "items": reference if resource.custom else {"allOf": [reference]}}
    found: Document = {"type": "object", "required": ["items"]}
    if not resource.custom:
        metadata = {"allOf": _LIST_METADATA["allOf"]}
        return {**found, "properties": {**_TYPE_META, "metadata": metadata, "items": items}}
    items["description"] = f"List of {resource.plural}. More info: {_CONVENTIONS}"
    return {
        **found,
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "properties": {**_TYPE_META, "metadata": _LIST_METADATA, "items": items},
        **_selectable(resource),
    }


def _selectable(resource: ServedResource) -> Document:
    if not resource.selectable_fields:
        return {}
    return {"x-kubernetes-selectable-fields": [{"fieldPath": path} for path in resource.selectable_fields]}


def _with_embedded(schema: Document) -> Document:
    """Return a schema in which embedded objects declare apiVersion, kind and metadata."""
    done = dict(schema)
    if "properties" in done:
        done["properties"] = {key: _with_embedded(child) for key, child in done["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(done.get(key), dict):
            done[key] = _with_embedded(done[key])
    if done.get("x-kubernetes-embedded-resource"):
        done["properties"] = {**done.get("properties", {}), **_EMBEDDED}
        done["required"] = list(dict.fromkeys((*(done.get("required") or ()), "kind", "apiVersion")))
    return done
