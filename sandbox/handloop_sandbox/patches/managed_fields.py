"""
Maintains `metadata.managedFields`, which records who wrote which field.

Fields are compared in the version of the request, because a field means the same in all versions of a kind.
However, if a webhook converts the objects, each manager's fields are compared in the manager's version. As in
a cluster, an update removes all entries if the object does not match, or cannot be converted to, a manager's
version.
Follows: apimachinery pkg/util/managedfields/internal (managedfieldsupdater.go, capmanagers.go, stripmeta.go,
fields.go) and structured-merge-diff merge/update.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.kinds.structure import Omission, is_struct, omission, properties, zero_of
from handloop_sandbox.patches.field_set import (
    FieldSet,
    decoded,
    difference,
    field_element,
    insert,
    union,
    without,
)
from handloop_sandbox.patches.merge_type import ElementError, type_of_resource
from handloop_sandbox.patches.typed_value import Comparison, compare, violations
from handloop_sandbox.wire.conversion import ConversionFailedError
from handloop_sandbox.wire.resource import Schema, ServedResource

APPLY, UPDATE = "Apply", "Update"
UNKNOWN_MANAGER = "unknown"
MAX_UPDATE_MANAGERS = 10
OLD_UPDATES_MANAGER = "ancient-changes"

_NEVER_OWNED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        "f:clusterName": {},
        "f:creationTimestamp": {},
        "f:generation": {},
        "f:managedFields": {},
        "f:name": {},
        "f:namespace": {},
        "f:resourceVersion": {},
        "f:selfLink": {},
        "f:uid": {},
    },
}
_STATUS_RESETS: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("", "pods"): (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ("apps", "deployments"): (("spec",), ("metadata", "labels")),
    ("certificates.k8s.io", "certificatesigningrequests"): (("spec",), ("status", "conditions")),
}


class FieldManager(NamedTuple):
    """
    A field manager: its name, operation, API version and subresource.

    api_version is "" for apply, because a manager that applies is the same manager in all versions.
    """

    name: str
    operation: str
    api_version: str
    subresource: str


class Owned(NamedTuple):
    """The fields that a manager owns, their API version, and the time of its last change, if known."""

    fields: FieldSet
    api_version: str
    time: str | None


Managed = dict[FieldManager, Owned]


def manager_of(resource: ServedResource, name: str, operation: str, subresource: str) -> FieldManager:
    """Return the field manager under which a request's fields are recorded."""
    version = "" if operation == APPLY else resource.api_version
    return FieldManager(name or UNKNOWN_MANAGER, operation, version, subresource)


def decode(entries: Any) -> Managed:
    """
    Decode `metadata.managedFields`, and return what each manager owns.

    Raises: ValueError if an entry is malformed.
    """
    managed: Managed = {}
    for entry in entries or ():
        operation, version = entry.get("operation"), entry.get("apiVersion")
        if operation not in {APPLY, UPDATE} or not version or entry.get("fieldsType") != "FieldsV1":
            raise ValueError("malformed managedFields entry")
        identity = "" if operation == APPLY else version
        manager = FieldManager(entry.get("manager", ""), operation, identity, entry.get("subresource", ""))
        fields = entry.get("fieldsV1")
        managed[manager] = Owned({} if fields is None else fields, version, entry.get("time"))
    return managed


def encode(managed: Managed) -> list[dict[str, Any]]:
    """
    Encode managers as `metadata.managedFields`.

    The entries are sorted by operation (Apply first), time, name, version and subresource.
    """

    def order(item: tuple[FieldManager, Owned]) -> tuple[str, str, str, str, str]:
        manager, owned = item
        return manager.operation, owned.time or "", manager.name, owned.api_version, manager.subresource

    return [_entry(manager, owned) for manager, owned in sorted(managed.items(), key=order)]


def _entry(manager: FieldManager, owned: Owned) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": manager.name} if manager.name else {}
    entry |= {"operation": manager.operation, "apiVersion": owned.api_version}
    if owned.time is not None:
        entry["time"] = owned.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": owned.fields}
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def record_update(
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    *,
    resource: ServedResource,
    manager: str,
    now: float,
    subresource: str = "",
) -> list[dict[str, Any]]:
    """
    Return the managedFields after manager has created, updated or patched an object.

    Args: old is None for a create. Returns: the new entries, or [] if nothing can be recorded.
    """
    before = old["metadata"].get("managedFields") or [] if old is not None else []
    managed = _managed_before(before, new, subresource=subresource)
    if not managed and old is not None:
        return []
    managed = in_versions(managed, resource)
    try:
        if old is not None and any(misfits(managed, obj, resource) for obj in (old, new)):
            return []
        changes = _changes(old, new, resource)
        if changes.same:
            return before if encode(managed) == before else encode(managed)
        identity = manager_of(resource, manager, UPDATE, subresource)
        others = {} if old is None else changes_for_others(old, new, managed, resource)
        return encode(capped(after_update(managed, changes, identity, resource, now, others=others)))
    except (ElementError, ValueError, ConversionFailedError):
        return []


def in_versions(managed: Managed, resource: ServedResource) -> Managed:
    """Return the managers whose API version still exists for the kind."""
    if not resource.schemas:
        return managed
    known = {f"{resource.group}/{version}" for version in resource.schemas}
    return {manager: owned for manager, owned in managed.items() if owned.api_version in known}


def misfits(managed: Managed, obj: Mapping[str, Any], resource: ServedResource) -> list[str]:
    """
    Validate an object in the managers' versions, except for the version of the request.

    Returns: the violations in the first version that the object does not match, or [].
    """
    if not resource.schemas:
        return []
    others = (in_version(resource, api_version) for api_version in _other_versions(managed, resource))
    found = (
        violations(seen_in(resource, [_unmanaged(obj)], other.api_version)[0], type_of_resource(other))
        for other in others
    )
    return next((wrong for wrong in found if wrong), [])


def changes_for_others(
    old: Mapping[str, Any], new: Mapping[str, Any], managed: Managed, resource: ServedResource
) -> Mapping[str, Comparison]:
    """
    Return, for each other version that has managers, the change as seen in that version.

    Without a webhook that converts the objects, return {}, because all versions have the same fields.
    Raises: ConversionNeededError if the conversion is not known yet, ConversionFailedError if it fails.
    """
    if resource.conversion is None:
        return {}
    found = {}
    for api_version in _other_versions(managed, resource):
        before, after = seen_in(resource, [_unmanaged(old), _unmanaged(new)], api_version)
        found[api_version] = compare(before, after, type_of_resource(in_version(resource, api_version)))
    return found


def seen_in(
    resource: ServedResource, objects: Sequence[Mapping[str, Any]], api_version: str
) -> list[dict[str, Any]]:
    """Convert objects to another version with the webhook. Without a webhook, return them unchanged."""
    given = [dict(obj) for obj in objects]
    if resource.conversion is None or all(obj["apiVersion"] == api_version for obj in given):
        return given
    return resource.conversion.convert(given, api_version)


def _other_versions(managed: Managed, resource: ServedResource) -> list[str]:
    found = dict.fromkeys(owned.api_version for owned in managed.values())
    return [api_version for api_version in found if api_version != resource.api_version]


def in_version(resource: ServedResource, api_version: str) -> ServedResource:
    """Return the resource as served in another API version."""
    return _in_version(resource, api_version.rpartition("/")[2])


@lru_cache(maxsize=256)
def _in_version(resource: ServedResource, version: str) -> ServedResource:
    return replace(resource, version=version, schema=resource.schemas[version])


def _managed_before(before: list[dict[str, Any]], new: Mapping[str, Any], *, subresource: str) -> Managed:
    """Return the managers before an update. The client can replace them, or clear them by sending [{}]."""
    sent = new["metadata"].get("managedFields")
    if sent == [{}] and not subresource:
        return {}
    if sent and sent != before and not subresource:
        try:
            return _decode_sent(sent)
        except (AttributeError, ValueError):
            pass
    try:
        return decode(before)
    except (AttributeError, ValueError):
        return {}


def _decode_sent(entries: Any) -> Managed:
    """Decode managedFields that a client sent. Raises: ValueError if an entry or a set is malformed."""
    sent = (
        (manager, owned._replace(fields=decoded(owned.fields))) for manager, owned in decode(entries).items()
    )
    return {manager: owned for manager, owned in sent if owned.fields}


def _changes(old: Mapping[str, Any] | None, new: Mapping[str, Any], resource: ServedResource) -> Comparison:
    known = empty_object(resource) if old is None else _unmanaged(old)
    return compare(known, _unmanaged(new), type_of_resource(resource))


def _unmanaged(obj: Mapping[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    if "managedFields" not in metadata:
        return dict(obj)
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": kept}


def after_update(
    managed: Managed,
    changes: Comparison,
    manager: FieldManager,
    resource: ServedResource,
    now: float,
    *,
    others: Mapping[str, Comparison] = MappingProxyType({}),
) -> Managed:
    """
    Return the managers after an update. manager now owns the changed fields that the request can set.

    Args: others maps other versions to the changes as seen in those versions, if they differ.
    """
    changed = union(changes.added, changes.modified)
    resets = reset_fields(resource, manager.subresource)
    lost = {
        version: without(union(union(each.added, each.modified), each.removed), resets)
        for version, each in {**others, "": changes}.items()
    }
    after = {}
    for key, owned in managed.items():
        rest = difference(owned.fields, lost.get(owned.api_version, lost[""]))
        if rest:
            after[key] = owned if rest is owned.fields else owned._replace(fields=rest)
    taken = ownable(changed, resource, manager.subresource)
    if taken:
        kept = after[manager].fields if manager in after else {}
        after[manager] = Owned(union(taken, kept), resource.api_version, format_time(now))
    return after


def ownable(fields: FieldSet, resource: ServedResource, subresource: str) -> FieldSet:
    """Return those of the fields that can have an owner and that this request can change."""
    return difference(without(fields, reset_fields(resource, subresource)), _NEVER_OWNED)


@lru_cache(maxsize=512)
def reset_fields(resource: ServedResource, subresource: str) -> FieldSet:
    """Return the fields that a write to this subresource never changes."""
    fields: FieldSet = {}
    for path in _reset_paths(resource, subresource):
        insert(fields, [field_element(part) for part in path])
    return fields


def _reset_paths(resource: ServedResource, subresource: str) -> tuple[tuple[str, ...], ...]:
    if resource.subresource("status") is None:
        return ()
    if resource.group == "certificates.k8s.io" and subresource != "status":
        return (("spec",), ("status", "certificate") if subresource else ("status",))
    if subresource != "status":
        return () if subresource == "scale" else (("status",),)
    if resource.custom:
        return (("metadata",), ("spec",))
    return _STATUS_RESETS.get((resource.group, resource.plural), (("spec",),))


def capped(managed: Managed) -> Managed:
    """Limit the managers with operation Update to ten, by merging the oldest ones of the same version."""
    updaters = sorted(
        (manager for manager in managed if manager.operation == UPDATE),
        key=lambda manager: (managed[manager].time or "", manager),
    )
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return managed
    rest = dict(managed)
    first: dict[str, FieldManager] = {}
    for manager in updaters:
        if excess <= 0:
            break
        version = manager.api_version
        bucket = FieldManager(OLD_UPDATES_MANAGER, UPDATE, version, "")
        if version not in first:
            first[version] = manager
            continue
        if bucket not in rest:
            rest[bucket] = rest.pop(first[version])
        owned = rest.pop(manager)
        rest[bucket] = owned._replace(fields=union(owned.fields, rest[bucket].fields))
        excess -= 1
    return rest


@lru_cache(maxsize=256)
def empty_object(resource: ServedResource) -> dict[str, Any]:
    """Return the empty object of a kind. It contains only the fields that Go never omits, as zero values."""
    return {} if resource.custom or resource.schema is None else _zero_struct(resource.schema)


def _zero_struct(schema: Schema) -> dict[str, Any]:
    return {
        name: _zero_struct(child) if is_struct(child) and zero_of(child) == {} else zero_of(child)
        for name, child in properties(schema).items()
        if omission(child) is Omission.NEVER
    }
