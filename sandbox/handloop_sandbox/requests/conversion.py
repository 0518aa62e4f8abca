"""
Converts objects between their served form and their stored form.

Events of both groups are stored as core/v1, autoscalers as v2, and custom resources in their definition's
storage version (versions.py). For other kinds, only the apiVersion may differ.
Empty lists that Go never omits are stored as null, because protobuf cannot express empty lists.
CustomResourceDefinitions keep their empty lists, because they are stored as JSON.
Follows: kubernetes pkg/apis/events/v1 conversion.go, k8s.io/api generated.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from handloop_sandbox.cluster.events import EVENTS
from handloop_sandbox.custom import versions
from handloop_sandbox.kinds import autoscaler_versions, structure
from handloop_sandbox.kinds.structure import Omission
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource, Schema, ServedResource

_EVENTS_GROUP: Final = "events.k8s.io"

# The events.k8s.io/v1 fields that have a different name in core/v1.
_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENTS_NAMES: Final = {core: name for name, core in _CORE_NAMES.items()}


def collection_of(resource: ServedResource) -> GroupResource:
    """Return the collection in which a resource's objects are stored."""
    return EVENTS if _is_event(resource) else resource.group_resource


def converter(resource: ServedResource) -> Callable[[Object], Object] | None:
    """
    Return a function that converts stored objects to the served version.

    Returns: The function, or None if at most the apiVersion differs.
    """
    if _is_event(resource):
        return _to_events_v1
    if resource.custom:
        return partial(versions.served_form, resource)
    return autoscaler_versions.as_v1 if _is_v1_autoscaler(resource) else None


def to_storage(resource: ServedResource, obj: Object) -> Object:
    """Convert an object from the served version to the form in which it is stored."""
    if _is_event(resource):
        return {**_renamed(obj, _CORE_NAMES), "apiVersion": "v1"}
    if _is_v1_autoscaler(resource):
        return autoscaler_versions.as_v2(obj)
    if resource.custom:
        return versions.stored_form(resource, obj)
    obj = as_stored(resource, obj)
    if obj["apiVersion"] == resource.storage_api_version:
        return obj
    return {**obj, "apiVersion": resource.storage_api_version}


def with_unseen(resource: ServedResource, new: Object, old: Object) -> Object:
    """Return a new object, plus the parts of the old object that the served version cannot express."""
    return autoscaler_versions.with_status_of(new, old) if _is_v1_autoscaler(resource) else new


def stored_field(resource: ServedResource, field: str) -> str:
    """Return the name that a field of the served version has in stored objects."""
    if not _is_event(resource):
        return field
    first, dot, rest = field.partition(".")
    return f"{_CORE_NAMES.get(first, first)}{dot}{rest}"


def _is_event(resource: ServedResource) -> bool:
    return resource.group == _EVENTS_GROUP and resource.kind == "Event"


def _is_v1_autoscaler(resource: ServedResource) -> bool:
    return resource.api_version == autoscaler_versions.V1 and resource.kind == "HorizontalPodAutoscaler"


def _to_events_v1(obj: Object) -> Object:
    return {**_renamed(obj, _EVENTS_NAMES), "apiVersion": f"{_EVENTS_GROUP}/v1"}


def _renamed(obj: Mapping[str, Any], names: Mapping[str, str]) -> Object:
    return {names.get(key, key): value for key, value in obj.items()}


_Path = tuple[str, ...]
_KEPT_AS_JSON: Final = "apiextensions.k8s.io"
_DEEPEST: Final = 4


def as_stored(resource: ServedResource, obj: dict[str, Any]) -> dict[str, Any]:
    """Replace empty lists that Go never omits with null. Lists inside other lists are not changed."""
    for path in _paths(resource):
        if _at(obj, path) == []:
            obj = _with_null(obj, path)
    return obj


@lru_cache(maxsize=512)
def _paths(resource: ServedResource) -> tuple[_Path, ...]:
    if resource.custom or resource.schema is None or resource.group == _KEPT_AS_JSON:
        return ()
    return tuple(_lists(resource.schema, ()))


def _lists(schema: Schema, path: _Path) -> list[_Path]:
    found: list[_Path] = []
    for name, child in structure.properties(schema).items():
        kind = structure.type_of(child)
        if kind == "array" and structure.omission(child) is Omission.NEVER:
            found.append((*path, name))
        elif kind == "object" and name != "metadata" and len(path) < _DEEPEST:
            found += _lists(child, (*path, name))
    return found


def _at(value: Any, path: _Path) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with_null(obj: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    first, *rest = path
    return {**obj, first: _with_null(obj[first], tuple(rest)) if rest else None}
