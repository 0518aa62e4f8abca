"""
`/openapi/v3`: the schemas and patch parameters that kubectl apply, create, diff, edit and explain request.

In the schemas of built-in kinds, only apiVersion, kind and metadata have descriptions. The schemas of custom
resources have the descriptions from their definitions. An operation contains only the parts that kubectl
reads: its kind, and the query parameters of a write. Operations on collections also list shardSelector,
because a real server lists this parameter even if it ignores it.
Follows: apiserver's published documents, kube-openapi pkg/handler3, apiextensions
pkg/controller/openapi/builder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec

from handloop_sandbox.kinds.kind_table import named_schema
from handloop_sandbox.requests import openapi_objects
from handloop_sandbox.requests.discovery import MAJOR, MINOR, PATCH
from handloop_sandbox.requests.openapi_objects import COMPONENTS, Document
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.patch_types import patch_types
from handloop_sandbox.wire.resource import Schema, ServedResource, Subresource

_BUILTIN = "io.k8s."
_META = "apimachinery.pkg.apis.meta.v1"
_OURS = frozenset({"x-go", "x-in", "x-omit", "x-shape"})
_PATCH = f"{_BUILTIN}{_META}.Patch"
_BUILT_IN = {"title": "Kubernetes", "version": f"v{MAJOR}.{MINOR}.{PATCH}"}
_OF_DEFINITIONS = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_WRITES = ("dryRun", "fieldManager", "fieldValidation")


def index(catalog: Catalog) -> Document:
    """Return the `/openapi/v3` index: each document's URL, whose hash changes with the document."""
    paths = {}
    for group, version in _group_versions(catalog):
        path = _path_of(group, version)
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={_hash(catalog, group, version)}"}
    return {"paths": paths}


def _group_versions(catalog: Catalog) -> Iterable[tuple[str, str]]:
    for group in ("", *catalog.groups()):
        for version in catalog.versions(group):
            yield group, version


def _path_of(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _hash(catalog: Catalog, group: str, version: str) -> str:
    resources = catalog.in_group_version(group, version)
    known = [[resource.plural, resource.kind, resource.namespaced, resource.schema] for resource in resources]
    names = [[sub.name for sub in resource.subresources] for resource in resources]
    digest = hashlib.sha256(_table_digest() + msgspec.json.encode([group, version, known, names]))
    return digest.hexdigest().upper()


@lru_cache(maxsize=1)
def _table_digest() -> bytes:
    return hashlib.sha256(files("handloop_sandbox.kinds").joinpath("kinds.json").read_bytes()).digest()


@lru_cache(maxsize=64)
def document(catalog: Catalog, group_version_path: str) -> bytes | None:
    """Return the document at a path below /openapi/v3 (such as apis/apps/v1), or None if it is unknown."""
    for group, version in _group_versions(catalog):
        if _path_of(group, version) == group_version_path:
            return msgspec.json.encode(_document(catalog.in_group_version(group, version)))
    return None


def _document(resources: Sequence[ServedResource]) -> Document:
    schemas: Document = {_PATCH: {"type": "object"}}
    paths: Document = {}
    for resource in resources:
        _add_schemas(schemas, resource)
        paths |= _paths(resource)
    return {
        "openapi": "3.0.0",
        "info": _OF_DEFINITIONS if any(each.custom for each in resources) else _BUILT_IN,
        "paths": paths,
        "components": {"schemas": schemas},
    }


def schema_name(resource: ServedResource) -> str:
    """Return a schema's name, such as `io.k8s.api.apps.v1.Deployment` or (custom) `org.example.v1.Widget`."""
    if not resource.custom and resource.schema is not None:
        return f"{_BUILTIN}{resource.schema['$ref']}"
    return ".".join((*reversed(resource.group.split(".")), resource.version, resource.kind))


def _add_schemas(schemas: Document, resource: ServedResource) -> None:
    name = schema_name(resource)
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    if resource.custom:
        _add_builtin(schemas, openapi_objects.OBJECT_META)
        schemas[name] = openapi_objects.custom(resource)
    else:
        _add_builtin(schemas, name.removeprefix(_BUILTIN))
        schemas[name] = openapi_objects.described(schemas[name])
    schemas[name]["x-kubernetes-group-version-kind"] = [kind]
    for sub in resource.subresources:
        _add_kind_of(schemas, sub)
    if "list" in resource.verbs:
        _add_builtin(schemas, openapi_objects.LIST_META)
        listing = {**kind, "kind": resource.list_kind}
        schemas[f"{name}List"] = {
            **openapi_objects.listing(resource, name),
            "x-kubernetes-group-version-kind": [listing],
        }


def _add_kind_of(schemas: Document, sub: Subresource) -> None:
    """Add the schema of a subresource's kind if it has its own group version (such as Scale or Eviction)."""
    if not sub.version:
        return
    name = f"api.{sub.group.partition('.')[0] or 'core'}.{sub.version}.{sub.kind}"
    if named_schema(name) is not None:
        _add_builtin(schemas, name)
        kind = {"group": sub.group, "version": sub.version, "kind": sub.kind}
        schemas[f"{_BUILTIN}{name}"]["x-kubernetes-group-version-kind"] = [kind]


def _add_builtin(schemas: Document, name: str) -> None:
    """Add the built-in schema with this name, and all schemas to which it refers."""
    pending = [name]
    while pending:
        current = pending.pop()
        if f"{_BUILTIN}{current}" in schemas:
            continue
        found = named_schema(current)
        if found is not None:
            schemas[f"{_BUILTIN}{current}"] = _published(found, pending)


def _published(schema: Schema, pending: list[str]) -> Document:
    """Convert a schema to OpenAPI 3.0: omit the sandbox's own keys, and wrap references in allOf."""
    done: Document = {}
    for key, value in schema.items():
        if key in _OURS:
            continue
        if key == "properties":
            done[key] = {name: _held(_published(child, pending)) for name, child in value.items()}
        elif key == "items":
            done[key] = _held(_published(value, pending))
        elif key == "additionalProperties" and isinstance(value, Mapping):
            done[key] = _published(value, pending)
        elif key == "$ref":
            pending.append(value)
            done[key] = f"{COMPONENTS}{_BUILTIN}{value}"
        else:
            done[key] = value
    return _held(done) if len(done) > 1 else done


def _held(schema: Document) -> Document:
    """Wrap a reference in allOf, as real servers do to add a description or a default to it."""
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**rest, "allOf": [{"$ref": schema["$ref"]}]} if "$ref" in schema else schema


def _paths(resource: ServedResource) -> Document:
    base = f"/{_path_of(resource.group, resource.version)}"
    where = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
    collection, one = f"{where}/{resource.plural}", f"{where}/{resource.plural}/{{name}}"
    paths = {
        collection: _operations(
            resource, resource.kind, {"get": "list", "post": "create", "delete": "deletecollection"}
        )
    }
    single = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
    paths[one] = _operations(resource, resource.kind, single)
    if resource.namespaced and "list" in resource.verbs:
        paths[f"{base}/{resource.plural}"] = _operations(resource, resource.kind, {"get": "list"})
    for sub in resource.subresources:
        paths[f"{one}/{sub.name}"] = _sub_operations(resource, sub)
    return {path: found for path, found in paths.items() if found}


def _operations(resource: ServedResource, kind: str, methods: Mapping[str, str]) -> Document:
    gvk = {"group": resource.group, "version": resource.version, "kind": kind}
    strategic = not resource.custom
    return {
        method: _operation(method, verb, gvk, strategic=strategic)
        for method, verb in methods.items()
        if verb in resource.verbs
    }


def _sub_operations(resource: ServedResource, sub: Subresource) -> Document:
    methods = {"get": "get", "put": "update", "patch": "patch", "post": "create"}
    group, version = (sub.group, sub.version) if sub.version else (resource.group, resource.version)
    gvk = {"group": group, "version": version, "kind": sub.kind}
    return {
        method: _operation(method, verb, gvk, strategic=not resource.custom)
        for method, verb in methods.items()
        if verb in sub.verbs
    }


def _operation(method: str, verb: str, gvk: Mapping[str, str], *, strategic: bool) -> Document:
    operation: Document = {
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": _action(method, verb),
    }
    operation["x-kubernetes-group-version-kind"] = dict(gvk)
    names = {"delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy"), "patch": (*_WRITES, "force")}
    found = () if method == "get" else names.get(method, _WRITES)
    if verb in ("list", "deletecollection"):
        found = (*found, "shardSelector")  # listed even if its feature gate is off
    if found:
        operation["parameters"] = [_parameter(name) for name in found]
    if method == "patch":
        types = sorted(patch_types(custom=not strategic))
        content = {media: {"schema": {"$ref": f"{COMPONENTS}{_PATCH}"}} for media in types}
        operation["requestBody"] = {"content": content, "required": True}
    return operation


def _action(method: str, verb: str) -> str:
    return {"create": "post", "update": "put"}.get(
        verb, verb if verb in {"list", "deletecollection"} else method
    )


def _parameter(name: str) -> Document:
    kind = {"force": "boolean", "gracePeriodSeconds": "integer"}.get(name, "string")
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
