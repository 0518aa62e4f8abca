"""
`/openapi/v2`: the documents of version 3 in the older form, all in one, as JSON.

References point into `definitions`. Parts of a custom resource's schema that version 2 does not know are left
out.
Follows: kube-openapi pkg/openapiconv and apiextensions pkg/controller/openapi/v2/conversion.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec

from handloop_sandbox.requests import openapi
from handloop_sandbox.requests.discovery import MAJOR, MINOR
from handloop_sandbox.storage.catalog import Catalog

Document = dict[str, Any]

_UNKNOWN: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable"})
_COMPONENTS: Final = "#/components/schemas/"


@lru_cache(maxsize=1)
def document(catalog: Catalog) -> bytes:
    """The whole document."""
    paths: Document = {}
    definitions: Document = {}
    for path in openapi.index(catalog)["paths"]:
        found = msgspec.json.decode(openapi.document(catalog, path) or b"{}")
        paths |= {at: _path_item(item) for at, item in found["paths"].items()}
        definitions |= {name: _schema(schema) for name, schema in found["components"]["schemas"].items()}
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


def _schema(schema: Document) -> Document:
    """A schema without the words of version 3; a reference with siblings is a reference alone."""
    match schema:
        case {"$ref": name} | {"allOf": [{"$ref": name}]}:
            return {"$ref": f"#/definitions/{name.removeprefix(_COMPONENTS)}"}
    done = {key: value for key, value in schema.items() if key not in _UNKNOWN}
    if "properties" in done:
        done["properties"] = {name: _schema(child) for name, child in done["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(done.get(key), dict):
            done[key] = _schema(done[key])
    return done
