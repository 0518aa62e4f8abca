"""
`/openapi/v2`: all version 3 documents merged into one document in the older format, as JSON.

References point into `definitions`. Keywords that version 2 or kubectl does not support are omitted, such as
`default`, `anyOf`, and the `type` of a value that can be null.
Follows: kube-openapi pkg/openapiconv and apiextensions pkg/controller/openapi/v2/conversion.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from handloop_sandbox.requests import openapi
from handloop_sandbox.requests.discovery import MAJOR, MINOR
from handloop_sandbox.requests.openapi_objects import COMPONENTS, Document
from handloop_sandbox.storage.catalog import Catalog

_UNKNOWN: Final = frozenset({"allOf", "anyOf", "default", "oneOf", "not", "nullable"})
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_OF_OBJECTS: Final = ("x-kubernetes-group-version-kind", "x-kubernetes-selectable-fields")


@lru_cache(maxsize=1)
def document(catalog: Catalog) -> bytes:
    """Return the `/openapi/v2` document."""
    paths: Document = {}
    definitions: Document = {}
    for path in openapi.index(catalog)["paths"]:
        found = msgspec.json.decode(openapi.document(catalog, path) or b"{}")
        paths |= {at: _path_item(item) for at, item in found["paths"].items()}
        definitions |= {name: _definition(schema) for name, schema in found["components"]["schemas"].items()}
    bearer = {"description": "Bearer Token authentication", "in": "header", "name": "authorization"}
    return msgspec.json.encode(
        {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": f"{MAJOR}.{MINOR}"},
            "paths": paths,
            "definitions": definitions,
            "parameters": {},
            "securityDefinitions": {"BearerToken": {**bearer, "type": "apiKey"}},
            "security": [{"BearerToken": []}],
        }
    )


def _path_item(item: Document) -> Document:
    return {method: _operation(operation) for method, operation in item.items()}


def _operation(operation: Document) -> Document:
    done = {key: value for key, value in operation.items() if key not in ("parameters", "requestBody")}
    parameters = [_parameter(parameter) for parameter in operation.get("parameters", ())]
    if "requestBody" in operation:
        content: Document = operation["requestBody"]["content"]
        done["consumes"] = list(content)
        schema = _schema(next(iter(content.values()))["schema"])
        parameters.append({"name": "body", "in": "body", "required": True, "schema": schema})
    return {**done, "parameters": parameters} if parameters else done


def _parameter(parameter: Document) -> Document:
    rest = {key: value for key, value in parameter.items() if key != "schema"}
    return {**rest, **parameter["schema"]}


def _definition(schema: Document) -> Document:
    """
    Return a kind's schema in version 2.

    A schema that preserves unknown fields has no properties. The type "number or string" becomes a string.
    """
    if schema.get(_PRESERVE):
        return {key: value for key, value in schema.items() if key == "type" or key in _OF_OBJECTS}
    if "oneOf" in schema and "type" not in schema:
        return {**_schema(schema), "type": "string"}
    return _schema(schema)


def _schema(schema: Document) -> Document:
    """Return a schema without the keywords of version 3. A reference keeps only its description."""
    match schema:
        case {"$ref": name} | {"allOf": [{"$ref": name}]}:
            said = {key: schema[key] for key in ("description",) if key in schema}
            return {**said, "$ref": f"#/definitions/{name.removeprefix(COMPONENTS)}"}
    unknown = {*_UNKNOWN, *_untyped(schema)}
    done = {key: value for key, value in schema.items() if key not in unknown}
    if "required" in done:
        done["required"] = [name for name in done["required"] if not _nullable(schema, name)]
    if "properties" in done:
        done["properties"] = {name: _schema(child) for name, child in done["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(done.get(key), dict):
            done[key] = _schema(done[key])
    return {key: value for key, value in done.items() if key != "required" or value}


def _untyped(schema: Document) -> Iterator[str]:
    """Yield the keywords to remove from a schema because kubectl would apply them too strictly."""
    free, nullable = schema.get(_PRESERVE), schema.get("nullable")
    if free or nullable:
        yield from ("items", "properties")
    if nullable or (free and schema.get("type") in ("array", "object")):
        yield "type"


def _nullable(schema: Document, name: str) -> bool:
    found = (schema.get("properties") or {}).get(name) or {}
    return bool(found.get("nullable"))
