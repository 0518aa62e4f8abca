"""
/scale: an object's replicas as an autoscaling/v1 Scale, and the field managers of the replicas.

As in Kubernetes, a manager that takes over the replicas through /scale has an entry without a timestamp. If
two entries of a manager differ only in their timestamps, the next write drops one of them.
Follows: apiextensions pkg/registry/customresource/etcd.go (ScaleREST), kubernetes
pkg/registry/apps/deployment/storage (ScaleREST), apimachinery pkg/util/managedfields/scalehandler.go.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.cluster.scale_target import with_value
from handloop_sandbox.patches import managed_fields
from handloop_sandbox.patches.field_set import FieldSet, difference, field_element, insert, intersection
from handloop_sandbox.patches.managed_fields import Managed, Owned, decode, encode
from handloop_sandbox.patches.server_side_apply import server_side_apply
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.bodies import MisfitError, UnrecognizedError
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.presentation import served_object
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.verbs import object_rules, patching
from handloop_sandbox.verbs.create import report_strict
from handloop_sandbox.verbs.update import check_name, check_uid, replace
from handloop_sandbox.wire import label_selector
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.options import WriteOptions, write_options
from handloop_sandbox.wire.patch_types import APPLY
from handloop_sandbox.wire.status import (
    StatusError,
    bad_request,
    internal_error,
    internal_failure,
    invalid,
    not_found,
)

SCALE: Final = bodies.pseudo_resource("autoscaling", "v1", "Scale", "api.autoscaling.v1.Scale")
_SHOWN_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def get_scale(call: Call) -> Response:
    """Answer 200 with the Scale of the object."""
    return _answer(call, _found(call, call.read()), needs_replicas=True)


def update_scale(call: Call) -> Response:
    """Set the replicas to the number in the Scale that the client sends."""
    options = write_options(call.request.query, "UpdateOptions")
    decoded = _decoded(call)
    before = _existing(call)
    report_strict(call, decoded.strict, options)
    check_name(call, decoded.object)
    check_uid(call, decoded.object, options)
    return _write(call, before, _recorded(call, _owned_scale(call, before), decoded.object, options), options)


def _decoded(call: Call) -> bodies.Decoded:
    content_type = call.request.headers.get("content-type", "")
    try:
        return bodies.decode(call.request.body, content_type, SCALE, call.catalog)
    except StatusError as error:
        if call.resource.custom and 'no kind "' in str(error):
            raise bad_request(f"no kind is registered for the type v1.Scale {bodies.SCHEME}") from error
        raise


def patch_scale(call: Call) -> Response:
    """Set the replicas by applying a patch to the Scale."""
    kind = patching.patch_type(call)
    options = write_options(call.request.query, "PatchOptions", apply=kind == APPLY)
    before = _existing(call)
    current = _owned_scale(call, before)
    if kind == APPLY:
        changed = _applied(call, current, patching.applied_configuration(call, options), options)
    else:
        changed = patching.patched(current, call.request.body, kind, SCALE.schema)
    try:
        decoded = bodies.decode_value(changed, [], SCALE, call.catalog)
    except (UnrecognizedError, MisfitError) as error:
        raise patching.invalid_patch(changed, str(error)) from error
    report_strict(call, decoded.strict, options)
    check_name(call, decoded.object)
    scale = decoded.object
    if kind != APPLY:
        scale = _recorded(call, current, scale, options)
    return _write(call, before, scale, options)


def _owned_scale(call: Call, stored: Stored) -> Object:
    """Return an object's Scale, and the managers of its replicas. Answers do not include the managers."""
    paths = call.resource.scale_paths
    scale = _scale_of(call, stored)
    assert paths is not None
    owners = to_scale(stored.object["metadata"].get("managedFields"), paths.spec_replicas)
    return shallow_metadata(scale, managedFields=owners or None)


def _recorded(call: Call, before: Object, scale: Object, options: WriteOptions) -> Object:
    """Return a changed Scale whose managedFields include this change."""
    owners = managed_fields.record_update(
        before,
        scale,
        resource=SCALE,
        manager=call.manager(options),
        now=call.context.now,
        subresource="scale",
    )
    return shallow_metadata(scale, managedFields=owners or None)


def _existing(call: Call) -> Stored:
    return _found(call, call.stored())


def _found(call: Call, stored: Stored | None) -> Stored:
    if stored is None:
        raise not_found(call.resource, call.name)
    return stored


def _applied(call: Call, current: Object, applied: Object, options: WriteOptions) -> Object:
    if call.resource.custom and not current["metadata"].get("managedFields"):
        raise _unconvertible("failed to create manager for existing fields: failed to convert live", "")
    merged = server_side_apply(
        current,
        applied,
        resource=SCALE,
        manager=options.field_manager,
        force=options.force,
        now=call.context.now,
        subresource="scale",
    )
    if call.resource.custom and merged.get("spec") != current["spec"]:
        raise _unconvertible("failed to convert new", call.name)
    return merged


def _unconvertible(problem: str, name: str) -> StatusError:
    """Return the error for an apply to a custom resource's Scale, which a real server cannot carry out."""
    text = "request to convert CR to an invalid group/version: autoscaling/v1"
    return internal_error(f"{problem} object (/{name}; autoscaling/v1, Kind=Scale) to proper version: {text}")


def _write(call: Call, before: Stored, scale: Object, options: WriteOptions) -> Response:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not call.resource.custom and replicas < 0:
        cause = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(SCALE, call.name, [cause])
    obj = served_object(call.resource, before)
    paths = call.resource.scale_paths
    assert paths is not None
    changed = with_value(obj, paths.spec_replicas, replicas)
    version = scale["metadata"].get("resourceVersion", "")
    owners = to_parent(
        changed["metadata"].get("managedFields"),
        scale["metadata"].get("managedFields"),
        paths.spec_replicas,
        call.resource.api_version,
    )
    metadata = {"resourceVersion": version or str(before.rv), "managedFields": owners or None}
    stored = replace(call, shallow_metadata(changed, **metadata), options, applied=True).stored
    return _answer(call, stored)


def _answer(call: Call, stored: Stored, *, needs_replicas: bool = False) -> Response:
    scale = Stored(_scale_of(call, stored, needs_replicas=needs_replicas), stored.rv)
    return Response(200, call.headers(), call.presentation(SCALE).one(scale, call.context.now))


def _scale_of(call: Call, stored: Stored, *, needs_replicas: bool = False) -> Object:
    """
    Return the Scale of an object. Its spec is empty if the number of replicas is 0 or missing.

    Raises: StatusError 500 if the object has no valid replicas. A missing number is an error only for custom
    resources, and only if needs_replicas is true.
    """
    paths = call.resource.scale_paths
    if paths is None:
        raise internal_error(f"{call.resource.qualified} has no scale")
    obj = served_object(call.resource, stored)
    wanted, problem = object_rules.nested(obj, paths.spec_replicas, int, "int64")
    if needs_replicas and wanted is None and call.resource.custom:
        raise internal_failure(f'the spec replicas field "{paths.spec_replicas}" does not exist')
    if problem:
        raise internal_error(problem)
    actual, _ = object_rules.nested(obj, paths.status_replicas, int, "int64")
    status: dict[str, Any] = {"replicas": actual or 0}
    if selector := _selector(call, obj, paths.label_selector):
        status["selector"] = selector
    metadata = {key: obj["metadata"][key] for key in _SHOWN_METADATA if key in obj["metadata"]}
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    return {**scale, "spec": {"replicas": wanted} if wanted else {}, "status": status}


def _selector(call: Call, obj: Object, path: str) -> str:
    if not path:
        return ""
    if call.resource.custom:
        text, _ = object_rules.nested(obj, path, str, "string")
        return text or ""
    return label_selector.text((obj.get("spec") or {}).get("selector"))


Entries = list[dict[str, Any]]

_SCALE_VERSION = "autoscaling/v1"
_IN_SCALE: FieldSet = {"f:spec": {"f:replicas": {}}}


def to_scale(entries: Any, path: str) -> Entries:
    """
    Return the managedFields for a Scale.

    The managers of the object's field at path (such as `.spec.replicas`) manage the Scale's replicas.
    """
    wanted = _field_set_of(path)
    owners = {
        manager: owned._replace(fields=_IN_SCALE, api_version=_SCALE_VERSION)
        for manager, owned in _owners(entries).items()
        if intersection(owned.fields, wanted)
    }
    return encode(owners)


def to_parent(entries: Any, scale_entries: Any, path: str, api_version: str) -> Entries:
    """
    Return an object's managedFields after a write to its Scale.

    Args: entries are the object's managedFields before the write. scale_entries are the Scale's after it.
    """
    wanted, parent, scale = _field_set_of(path), _owners(entries), _owners(scale_entries)
    after: Managed = {}
    for manager, owned in parent.items():
        kept = owned
        if manager not in scale and intersection(owned.fields, wanted):
            kept = owned._replace(fields=difference(owned.fields, wanted))
        if kept.fields:
            after[manager] = kept
    new = {manager: Owned(wanted, api_version, None) for manager in scale if manager not in parent}
    return encode({**after, **new})


def _owners(entries: Any) -> Managed:
    try:
        return decode(entries)
    except (AttributeError, ValueError):
        return {}


def _field_set_of(path: str) -> FieldSet:
    fields: FieldSet = {}
    insert(fields, [field_element(part) for part in path.removeprefix(".").split(".")])
    return fields
