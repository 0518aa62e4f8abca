"""
Server-side apply: merges the configuration that a manager applies, and finds conflicts with other managers.

Follows: structured-merge-diff merge/update.go (Apply, prune), apimachinery pkg/util/managedfields/internal
(structuredmerge.go, skipnonapplied.go, lastappliedmanager.go, lastappliedupdater.go, conflict.go).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.patches.field_set import (
    FieldSet,
    Path,
    difference,
    intersection,
    paths,
    shown,
    union,
    without,
)
from handloop_sandbox.patches.managed_fields import (
    APPLY,
    UPDATE,
    FieldManager,
    Managed,
    Owned,
    after_update,
    changes_for_others,
    decode,
    empty_object,
    encode,
    in_version,
    in_versions,
    manager_of,
    misfits,
    ownable,
    reset_fields,
    seen_in,
)
from handloop_sandbox.patches.merge_type import Atom, ElementError, type_of_resource
from handloop_sandbox.patches.typed_merge import merge, remove, with_named_members
from handloop_sandbox.patches.typed_value import Comparison, compare, field_set, violations
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError, bad_request, failure, internal_error

BEFORE_FIRST_APPLY = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Object = dict[str, Any]


class _Conflict(NamedTuple):
    """A field that the applied configuration changes, and the other manager that owns it."""

    manager: FieldManager
    path: Path


class _ConflictsError(Exception):
    """Raised if fields of other managers would change, and the request does not set force."""

    def __init__(self, found: list[_Conflict]) -> None:
        super().__init__(f"{len(found)} conflicts")
        self.found = found


class _Apply(NamedTuple):
    """One apply request: the live object, the applied configuration, and the managers."""

    live: Object
    applied: Object
    managed: Managed
    manager: FieldManager
    resource: ServedResource
    now: float

    @property
    def atom(self) -> Atom:
        return type_of_resource(self.resource)


def server_side_apply(
    current: Object | None,
    applied: Object,
    *,
    resource: ServedResource,
    manager: str,
    force: bool,
    now: float,
    subresource: str = "",
) -> Object:
    """
    Apply a configuration to an object, and return the new object with its managedFields.

    Args: current is the live object, or None to create an object.
    Raises: StatusError 400 if the kind is wrong or the configuration contains managedFields; 409 with a cause
    for each conflicting field, unless force is set; 500 if the configuration does not match the schema.
    """
    _check(applied, resource)
    live = _unmanaged(current) if current is not None else _empty(resource)
    identity = manager_of(resource, manager, APPLY, subresource)
    managed = in_versions(_managed(current, live, resource, now, identity), resource)
    if wrong := misfits(managed, live, resource):
        raise internal_error(_joined(wrong))
    request = _Apply(live, applied, managed, identity, resource, now)
    try:
        merged, managed = _apply_with_last_applied(request, force=force)
    except ElementError as error:
        raise internal_error(f"failed to apply: {error}") from error
    except _ConflictsError as conflicts:
        raise _conflict_status(conflicts.found) from None
    return _with_managed(_with_last_applied(merged, request), managed)


def _check(applied: Object, resource: ServedResource) -> None:
    version, kind = (_text(applied.get(key)) for key in ("apiVersion", "kind"))
    if (version, kind) != (resource.api_version, resource.kind):
        group, _, bare = version.rpartition("/")
        raise bad_request(f"invalid object type: {group}/{bare}, Kind={kind}")
    if _metadata(applied).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    wrong = violations(applied, type_of_resource(resource))
    if wrong:
        named = _named(applied, resource)
        raise internal_error(f"failed to create typed patch object ({named}): {_joined(wrong)}")


def _joined(wrong: list[str]) -> str:
    return wrong[0] if len(wrong) == 1 else "\n  ".join(["errors:", *wrong])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _metadata(applied: Object) -> Object:
    metadata = applied.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _named(applied: Object, resource: ServedResource) -> str:
    metadata = _metadata(applied)
    gvk = f"{resource.group}/{resource.version}, Kind={resource.kind}"
    return f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}; {gvk}"


def _unmanaged(current: Object) -> Object:
    metadata = {key: value for key, value in current["metadata"].items() if key != "managedFields"}
    return {**current, "metadata": metadata}


def _empty(resource: ServedResource) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **empty_object(resource)}


def _managed(
    current: Object | None, live: Object, resource: ServedResource, now: float, identity: FieldManager
) -> Managed:
    """Return the managers before the apply. If none are recorded, `before-first-apply` owns all fields."""
    if current is None:
        return {}
    try:
        managed = decode(current["metadata"].get("managedFields"))
    except (AttributeError, ValueError):
        managed = {}
    if managed:
        return managed
    changes = compare(_empty(resource), live, type_of_resource(resource))
    manager = manager_of(resource, BEFORE_FIRST_APPLY, UPDATE, identity.subresource)
    return after_update({}, changes, manager, resource, now)


def _apply_with_last_applied(request: _Apply, *, force: bool) -> tuple[Object, Managed]:
    """Apply the request. kubectl can take over the fields of its client-side apply without conflicts."""
    try:
        return _apply(request, force=force)
    except _ConflictsError as conflicts:
        if request.manager.name != "kubectl":
            raise
        allowed = _last_applied_fields(request)
        rest = [conflict for conflict in conflicts.found if not _contains(allowed, conflict.path)]
        if allowed is None or rest:
            raise _ConflictsError(rest) from None
        return _apply(request, force=True)


def _contains(fields: FieldSet | None, path: Path) -> bool:
    return fields is not None and path in set(paths(fields))


def _apply(request: _Apply, *, force: bool) -> tuple[Object, Managed]:
    atom, manager = request.atom, request.manager
    merged: Object = merge(request.live, request.applied, atom)
    last = request.managed.get(manager)
    wanted = field_set(request.applied, atom)
    owned = Owned(_without_resets(wanted, request), request.resource.api_version, last.time if last else None)
    managed = {**request.managed, manager: owned}
    if last is not None and last.fields:
        merged = _prune(request, merged, managed, last)
    changes = Comparison(
        *(_without_resets(fields, request) for fields in compare(request.live, merged, atom))
    )
    others = {
        version: Comparison(*(_without_resets(fields, request) for fields in seen))
        for version, seen in changes_for_others(request.live, merged, managed, request.resource).items()
    }
    managed = _taken_over(managed, changes, others, manager, force=force)
    fields = ownable(owned.fields, request.resource, manager.subresource)
    if not fields:
        managed.pop(manager, None)
        return merged, managed
    time = format_time(request.now) if merged != request.live else owned.time
    managed[manager] = Owned(fields, owned.api_version, time)
    return merged, managed


def _without_resets(fields: FieldSet, request: _Apply) -> FieldSet:
    return without(fields, reset_fields(request.resource, request.manager.subresource))


def _prune(request: _Apply, merged: Object, managed: Managed, last: Owned) -> Object:
    """
    Remove the fields that this manager applied before but not now, unless another manager owns them.

    First, whole entries and objects are removed in the version of the last apply. Then, the other managers'
    fields inside them are added back, in each manager's version.
    """
    home, resource = last.api_version, request.resource
    atom = type_of_resource(in_version(resource, home) if resource.conversion else resource)
    (whole,) = seen_in(resource, [merged], home)
    wanted = with_named_members(last.fields, atom)
    pruned = remove(whole, wanted, atom) or {}
    for version, fields in _owned_by_version(managed, home, resource).items():
        pruned = _with_owned(request, whole, pruned, fields, version)
    (pruned,) = seen_in(resource, [pruned], home)
    gone = difference(_named_fields(whole, atom), _named_fields(pruned, atom))
    result: Object = remove(whole, intersection(gone, wanted), atom) or {}
    return seen_in(resource, [result], resource.api_version)[0]


def _owned_by_version(managed: Managed, home: str, resource: ServedResource) -> dict[str, FieldSet]:
    found: dict[str, FieldSet] = {home: {}}
    for owned in managed.values():
        version = owned.api_version if resource.conversion else home
        found[version] = union(found.get(version, {}), owned.fields)
    return found


def _with_owned(request: _Apply, whole: Object, pruned: Object, fields: FieldSet, version: str) -> Object:
    """Add these fields of the whole object back to the pruned object, in the given version."""
    resource = request.resource
    atom = type_of_resource(in_version(resource, version) if resource.conversion else resource)
    (whole,), (pruned,) = (seen_in(resource, [obj], version) for obj in (whole, pruned))
    kept = union(_named_fields(pruned, atom), with_named_members(fields, atom))
    return remove(whole, difference(_named_fields(whole, atom), kept), atom) or {}


def _named_fields(obj: Object, atom: Atom) -> FieldSet:
    return with_named_members(field_set(obj, atom), atom)


def _taken_over(
    managed: Managed,
    changes: Comparison,
    others: Mapping[str, Comparison],
    manager: FieldManager,
    *,
    force: bool,
) -> Managed:
    """
    Return the managers after an apply.

    Args: others maps other versions to the changes as seen in those versions.
    Raises: _ConflictsError if fields of other managers would change, and force is false.
    """
    seen = {other: others.get(owned.api_version, changes) for other, owned in managed.items()}
    conflicts = {
        other: shared
        for other, owned in managed.items()
        if other != manager
        and (shared := intersection(owned.fields, union(seen[other].modified, seen[other].added)))
    }
    if conflicts and not force:
        raise _ConflictsError(
            [_Conflict(other, path) for other, shared in conflicts.items() for path in paths(shared)]
        )
    after = {}
    for other, owned in managed.items():
        rest = owned.fields
        if other != manager:
            rest = difference(difference(rest, conflicts.get(other, {})), seen[other].removed)
        if rest:
            after[other] = owned._replace(fields=rest)
    return after


def _last_applied_fields(request: _Apply) -> FieldSet | None:
    """
    Return the fields that client-side apply set and that have not been changed since.

    Returns: None if the object has no valid annotation of client-side apply.
    """
    text = (request.live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    try:
        last = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != request.resource.api_version:
        return None
    try:
        changes = compare(last, request.live, request.atom)
        fields = field_set(last, request.atom)
    except ElementError:
        return None
    return difference(fields, union(changes.added, union(changes.modified, changes.removed)))


def _with_last_applied(merged: Object, request: _Apply) -> Object:
    """Return the merged object. If kubectl's annotation is present, set it to the applied configuration."""
    annotations = _metadata(merged).get("annotations") or {}
    if request.manager.name != "kubectl" or not annotations.get(LAST_APPLIED):
        return merged
    bare = dict(request.applied)
    if metadata := _metadata(bare):
        given = metadata.get("annotations") or {}
        own = {key: value for key, value in given.items() if key != LAST_APPLIED}
        bare["metadata"] = {**metadata, "annotations": own}
        if not own:
            del bare["metadata"]["annotations"]
    text = json.dumps(bare, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    return {**merged, "metadata": {**merged["metadata"], "annotations": {**annotations, LAST_APPLIED: text}}}


def _with_managed(merged: Object, managed: Managed) -> Object:
    metadata = dict(merged.get("metadata") or {})
    entries = encode(managed)
    if entries:
        metadata["managedFields"] = entries
    return {**merged, "metadata": metadata}


def _conflict_status(conflicts: list[_Conflict]) -> StatusError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_shown_manager(conflict.manager)}",
            "field": shown(conflict.path),
        }
        for conflict in conflicts
    ]
    return StatusError(failure(409, "Conflict", _conflict_message(conflicts), details={"causes": causes}))


def _conflict_message(conflicts: list[_Conflict]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return (
            f"Apply failed with 1 conflict: conflict with {_shown_manager(only.manager)}: {shown(only.path)}"
        )
    lines = []
    for manager in sorted({conflict.manager for conflict in conflicts}):
        lines.append(f"conflicts with {_shown_manager(manager)}:")
        lines += [f"- {shown(conflict.path)}" for conflict in conflicts if conflict.manager == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _shown_manager(manager: FieldManager) -> str:
    text = json.dumps(manager.name, ensure_ascii=False)
    if manager.subresource:
        text = f"{text} with subresource {json.dumps(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == UPDATE else text
