"""
Custom objects on their way into the storage and out of it.

Each version that an object passes prunes it by its own schema. The version that it is stored in fills in
defaults too, with each read: a later schema shows its defaults at once. A conversion webhook is not called:
where a definition has one, objects of other versions go through as they are.
Follows: apiextensions pkg/apiserver/customresource_handler.go (crdConversionRESTOptionsGetter,
schemaCoercingConverter, unstructuredDefaulter).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handloop_sandbox.custom import structural
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import ServedResource


def stored_form(resource: ServedResource, obj: Object) -> Object:
    """An object of the served version as it is stored."""
    return _converted(resource, obj, resource.storage_version)


def served_form(resource: ServedResource, obj: Object) -> Object:
    """A stored object as the served version has it; the same object where that makes no difference."""
    version = obj["apiVersion"].rpartition("/")[2]
    schema = resource.schemas.get(version)
    pruned, unknown = structural.prune(schema, obj)
    filled = structural.default(schema, pruned if unknown else obj)
    return _converted(resource, obj if filled == obj else filled, resource.version)


def _converted(resource: ServedResource, obj: Object, version: str) -> Object:
    api_version = f"{resource.group}/{version}"
    if obj["apiVersion"] == api_version:
        return obj
    converted: Mapping[str, Any] = {**obj, "apiVersion": api_version}
    if resource.has_webhook:
        return dict(converted)
    return structural.prune(resource.schemas.get(version), converted)[0]
