"""
Loads fixtures: objects in YAML or JSON, applied like `kubectl apply --server-side --force-conflicts`.

If a kind has the status subresource, the object's status is applied as well, which kubectl would not do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handloop_sandbox.controls.client import Client, Object
from handloop_sandbox.controls.machine import Machine
from handloop_sandbox.wire.json_documents import json_documents
from handloop_sandbox.wire.patch_types import APPLY
from handloop_sandbox.wire.status import StatusError, bad_request, failure

_NEEDED: Final = ("apiVersion", "kind", "metadata.name")


def load(machine: Machine, client: Client, body: bytes) -> list[Object]:
    """
    Apply the objects in one or more YAML or JSON documents. A `kind: List` is replaced by its items.

    Returns: the objects as stored.
    Raises: StatusError if a document is not a valid object (then no object is applied), if an object is
    refused (then the objects before it have been applied), or with code 409 if another definition already
    uses the names of a definition.
    """
    objects = [obj for document in _documents(body) for obj in _items(document)]
    for obj in objects:
        _check(obj)
    return [_applied(machine, client, obj) for obj in objects]


def _documents(body: bytes) -> list[Any]:
    try:
        return [document for document in json_documents(body.decode()) if document]
    except ValueError as error:
        raise bad_request(f"no YAML: {error}") from error


def _items(document: Any) -> list[Any]:
    if isinstance(document, Mapping) and document.get("kind") == "List" and "items" in document:
        items = document["items"]
        return items if isinstance(items, list) else [items]
    return [document]


def _check(obj: Any) -> None:
    if not isinstance(obj, dict):
        raise bad_request(f"no object: {obj!r}")
    metadata = obj.get("metadata")
    found = {**obj, "metadata.name": metadata.get("name") if isinstance(metadata, dict) else None}
    for name in _NEEDED:
        if not isinstance(found.get(name), str) or not found[name]:
            head = {field: obj[field] for field in ("apiVersion", "kind", "metadata") if field in obj}
            raise bad_request(f"an object to apply needs {name}: {head}")


def _applied(machine: Machine, client: Client, obj: Object) -> Object:
    metadata = obj["metadata"]
    namespace = metadata.get("namespace") or "default"
    place = client.place(obj["apiVersion"], obj["kind"], namespace, metadata["name"])
    done = client.patch(place.path, obj, APPLY)
    if "status" in obj and place.has_status:
        named = {"name": metadata["name"], **({"namespace": namespace} if "namespace" in metadata else {})}
        of_status = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": named}
        done = client.patch(f"{place.path}/status", {**of_status, "status": obj["status"]}, APPLY)
    if obj["kind"] == "CustomResourceDefinition":
        machine.tick()
        done = client.get(place.path)
        _must_be_served(place.path, done)
    return done


def _must_be_served(path: str, definition: Object) -> None:
    """Raise StatusError 409 if a definition's kind is not served, because later objects may have it."""
    conditions = definition.get("status", {}).get("conditions") or ()
    if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        return
    why = "; ".join(each["message"] for each in conditions if each["status"] != "True")
    raise StatusError(failure(409, "Conflict", f"{path} is not served: {why or 'its names are unchecked'}"))
