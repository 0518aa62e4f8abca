"""
Converts custom objects to and from their storage version.

A converted object is pruned by the schema of its new version. Each read also adds the defaults of the
object's storage version, so that defaults that were added to the schema later appear immediately. If a
definition has a conversion webhook, the webhook converts objects between versions.
Follows: apiextensions pkg/apiserver/customresource_handler.go (crdConversionRESTOptionsGetter,
schemaCoercingConverter, unstructuredDefaulter).
"""

from __future__ import annotations

from collections.abc import Sequence

from handloop_sandbox.custom import structural
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import Conversion, ServedResource


def stored_form(resource: ServedResource, obj: Object) -> Object:
    """Convert an object from the served version to the storage version."""
    return in_version(resource, [obj], resource.storage_version)[0]


def served_form(resource: ServedResource, obj: Object) -> Object:
    """Convert a stored object to the served version. If nothing changes, return the same object."""
    return served_forms(resource, [obj])[0]


def served_forms(resource: ServedResource, objects: Sequence[Object]) -> list[Object]:
    """Convert stored objects to the served version. All their conversions are requested together."""
    return in_version(resource, [_filled(resource, obj) for obj in objects], resource.version)


def in_version(resource: ServedResource, objects: Sequence[Object], version: str) -> list[Object]:
    """
    Convert objects from any version to the given version.

    Raises: ConversionNeededError if the webhook must be called first, or ConversionFailedError if it failed.
    """
    api_version = f"{resource.group}/{version}"
    if resource.conversion is not None:
        return _converted(resource, resource.conversion, objects, version)
    schema = resource.schemas.get(version)
    return [
        obj
        if obj["apiVersion"] == api_version
        else structural.prune(schema, {**obj, "apiVersion": api_version})[0]
        for obj in objects
    ]


def _filled(resource: ServedResource, obj: Object) -> Object:
    """Return a stored object, pruned and defaulted with the schema of its storage version."""
    schema = resource.schemas.get(obj["apiVersion"].rpartition("/")[2])
    pruned, unknown = structural.prune(schema, obj)
    filled = structural.default(schema, pruned if unknown else obj)
    return obj if filled == obj else filled


def _converted(
    resource: ServedResource, conversion: Conversion, objects: Sequence[Object], version: str
) -> list[Object]:
    api_version, schema = f"{resource.group}/{version}", resource.schemas.get(version)
    others = [obj for obj in objects if obj["apiVersion"] != api_version]
    made = iter(conversion.convert(others, api_version))
    return [
        obj
        if obj["apiVersion"] == api_version
        else structural.without_nulls(schema, structural.prune(schema, next(made))[0])
        for obj in objects
    ]
