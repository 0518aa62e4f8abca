"""
Converts custom objects to and from their storage version.

In each version that an object passes through, it is pruned by that version's schema. On each read, it also
gets the defaults of its storage version, so that the defaults in a later schema appear immediately. If a
definition has a conversion webhook, the webhook converts objects to other versions.
Follows: apiextensions pkg/apiserver/customresource_handler.go (crdConversionRESTOptionsGetter,
schemaCoercingConverter, unstructuredDefaulter).
"""

from __future__ import annotations

from collections.abc import Sequence

from handloop_sandbox.custom import structural
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import Conversion, ServedResource


def stored_form(resource: ServedResource, obj: Object) -> Object:
    """Return the stored form of an object that is in the served version."""
    return in_version(resource, [obj], resource.storage_version)[0]


def served_form(resource: ServedResource, obj: Object) -> Object:
    """Return a stored object in the served version. If nothing differs, it is the same object."""
    return served_forms(resource, [obj])[0]


def served_forms(resource: ServedResource, objects: Sequence[Object]) -> list[Object]:
    """Return several stored objects in the served version, converting them in one call."""
    return in_version(resource, [_filled(resource, obj) for obj in objects], resource.version)


def in_version(resource: ServedResource, objects: Sequence[Object], version: str) -> list[Object]:
    """
    Return objects of any version, converted to the given version.

    Raises: ConversionNeededError, ConversionFailedError.
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
    """Return a stored object, pruned and defaulted by the schema of its storage version."""
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
