"""
DELETE: deletes one object or a collection.

Follows: apiserver pkg/registry/rest/delete.go (BeforeDelete), pkg/registry/generic/registry/store.go (Delete,
deletionFinalizersForGarbageCollection, DeleteCollection), kubernetes namespace and pod registries.
"""

from __future__ import annotations

from typing import Final

from handloop_sandbox.cluster.bootstrap import PRIORITY_CLASSES, SYSTEM_PRIORITIES
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.conversion import to_storage
from handloop_sandbox.requests.definitions import DEFINITIONS, begin_removal
from handloop_sandbox.requests.presentation import served_object
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.verbs.reading import answer_list, listed
from handloop_sandbox.wire import go_time
from handloop_sandbox.wire.options import DeleteOptions, delete_options
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import StatusError, conflict, failure, forbidden, not_found, success

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_PROTECTED_NAMESPACES: Final = ("default", "kube-system", "kube-public")
# The kinds for which a DELETE returns the object (ReturnDeletedObject).
_RETURNED: Final = frozenset(
    {
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
    }
)
_DEFAULT_GRACE: Final = 30
# The kinds whose dependents remain by default when the owner is deleted.
_ORPHANING: Final = (GroupResource("batch", "jobs"), GroupResource("", "replicationcontrollers"))
# The kinds whose deletion a real server implements separately, with its own messages.
_OWN_DELETION: Final = (GroupResource("", "namespaces"), DEFINITIONS)


def delete(call: Call) -> Response:
    """Answer 200 with the object if it still exists or its kind is in _RETURNED, or else with a Status."""
    body = bodies.read_options(call.request.body, call.request.headers.get("content-type", ""))
    options = delete_options(call.request.query, body)
    before = call.read()
    if before is None:
        raise not_found(call.resource, call.name)
    transaction = call.transaction(dry_run=options.dry_run)
    left = remove(call, transaction, before, options)
    call.commit(transaction)
    if left is not None:
        return call.answer(left)
    return call.answer_value(success(_details(call, before.object)))


def delete_collection(call: Call) -> Response:
    """
    Answer 200 with the objects as they were before the deletion.

    If one of them cannot be deleted, those before it stay deleted, as on a real server.
    """
    page = listed(call)
    body = bodies.read_options(call.request.body, call.request.headers.get("content-type", ""))
    options = delete_options(call.request.query, body)
    transaction = call.transaction(dry_run=options.dry_run)
    try:
        for stored in page.items:
            metadata = stored.object["metadata"]
            before = transaction.stored(call.collection, metadata.get("namespace", ""), metadata["name"])
            if before is not None:  # a list of an older version can contain deleted objects
                remove(call, transaction, before, options)
    finally:
        call.commit(transaction)
    return answer_list(call, page)


def remove(call: Call, transaction: Transaction, before: Stored, options: DeleteOptions) -> Stored | None:
    """Delete an object, or mark it for deletion. Return the object for the answer, or None for a Status."""
    obj = served_object(call.resource, before)
    _check_preconditions(call, obj, options)
    if call.resource.kind == "Namespace" and not call.resource.custom:
        return _remove_namespace(call, transaction, obj, before, options)
    if call.collection == PRIORITY_CLASSES and obj["metadata"]["name"] in SYSTEM_PRIORITIES:
        text = "this is a system priority class and cannot be deleted"
        raise forbidden(call.resource, obj["metadata"]["name"], text)
    if call.collection == DEFINITIONS:
        return begin_removal(call, transaction, obj)
    grace = _grace_seconds(call, obj, options)
    finalizers = _finalizers(call, obj, options)
    metadata = obj["metadata"]
    waits = bool(finalizers) or grace > 0
    if waits:
        if metadata.get("deletionTimestamp") and _keeps(metadata, finalizers, grace):
            return before
        going = shallow_metadata(_marked(call, obj, grace), finalizers=finalizers or None)
        return transaction.put(call.collection, to_storage(call.resource, going))
    if call.resource.plural in _RETURNED and not call.resource.custom:
        rv = _gone(call, transaction, metadata).rv
        left = _marked(call, obj, 0) if call.resource.group_resource == PODS else obj
        return Stored(to_storage(call.resource, shallow_metadata(left, resourceVersion=str(rv))), rv)
    _gone(call, transaction, metadata)
    return None


def _gone(call: Call, transaction: Transaction, metadata: Object) -> Stored:
    return transaction.delete(call.collection, metadata.get("namespace", ""), metadata["name"])


def _marked(call: Call, obj: Object, grace: int) -> Object:
    """Return the object with its deletion time. Setting it for the first time increments the generation."""
    metadata = obj["metadata"]
    first = not metadata.get("deletionTimestamp")
    generation = metadata.get("generation", 0)
    began = call.context.now if first else _began(metadata)
    return shallow_metadata(
        obj,
        deletionTimestamp=go_time.from_unix(began + grace),
        deletionGracePeriodSeconds=grace,
        generation=(generation + 1 if first else generation) if generation else None,
    )


def _began(metadata: Object) -> float:
    grace: int = metadata.get("deletionGracePeriodSeconds") or 0
    return go_time.to_unix(metadata["deletionTimestamp"]) - grace


def _keeps(metadata: Object, finalizers: list[str], grace: int) -> bool:
    """Return whether another DELETE changes nothing. A DELETE can only shorten the grace period."""
    same = finalizers == (metadata.get("finalizers") or [])
    return same and grace >= (metadata.get("deletionGracePeriodSeconds") or 0)


def _finalizers(call: Call, obj: Object, options: DeleteOptions) -> list[str]:
    """Return the object's finalizers, as changed by the propagation policy."""
    present = obj["metadata"].get("finalizers") or []
    orphan = options.orphan if options.orphan is not None else options.propagation == "Orphan"
    foreground = options.propagation == "Foreground"
    if options.orphan is None and not options.propagation:
        if call.resource.group_resource not in _ORPHANING or set(present) & {_ORPHAN, _FOREGROUND}:
            return list(present)
        orphan = True
    kept = [name for name in present if name not in (_ORPHAN, _FOREGROUND)]
    if orphan:
        return [*kept, _ORPHAN]
    return [*kept, _FOREGROUND] if foreground else kept


def _grace_seconds(call: Call, obj: Object, options: DeleteOptions) -> int:
    """Return the grace period in seconds, which is 0 except for unfinished pods on a node."""
    if call.resource.group_resource != PODS:
        return 0
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    if options.grace_seconds is not None:
        grace = max(options.grace_seconds, 1) if options.grace_seconds < 0 else options.grace_seconds
    else:
        grace = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE)
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        grace = 0
    present = metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp") and present is not None:
        return int(min(grace, present))
    return int(grace)


def _check_preconditions(call: Call, obj: Object, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    if call.collection in _OWN_DELETION:
        for what, given, found in (
            ("UID", options.uid, metadata["uid"]),
            ("ResourceVersion", options.resource_version, metadata["resourceVersion"]),
        ):
            if given is not None and given != found:
                text = f"Precondition failed: {what} in precondition: {given}, {what} in object meta: {found}"
                raise conflict(call.resource, metadata["name"], text)
        return
    if options.uid is not None and options.uid != metadata["uid"]:
        raise _precondition(
            call,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated",
        )
    version = metadata["resourceVersion"]
    if options.resource_version is not None and options.resource_version != version:
        raise _precondition(
            call,
            metadata["name"],
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({version}). The object might have been modified",
        )


def _precondition(call: Call, name: str, text: str) -> StatusError:
    resource = call.resource
    message = f'Operation cannot be fulfilled on {resource.qualified_kind} "{name}": {text}'
    pairs = (("name", name), ("group", resource.group), ("kind", resource.kind))
    details = {key: value for key, value in pairs if value}
    return StatusError(failure(409, "Conflict", message, details=details))


def _remove_namespace(
    call: Call, transaction: Transaction, obj: Object, before: Stored, options: DeleteOptions
) -> Stored | None:
    name = obj["metadata"]["name"]
    if name in _PROTECTED_NAMESPACES:
        raise forbidden(call.resource, name, "this namespace may not be deleted")
    if not obj["metadata"].get("deletionTimestamp"):
        ends, finalizers = go_time.from_unix(call.context.now), _finalizers(call, obj, options)
        going = shallow_metadata(obj, deletionTimestamp=ends, finalizers=finalizers or None)
        going = {**going, "status": {**(going.get("status") or {}), "phase": "Terminating"}}
        return transaction.put(call.collection, going)
    if (obj.get("spec") or {}).get("finalizers") or obj["metadata"].get("finalizers"):
        return before
    _gone(call, transaction, obj["metadata"])
    return before


def _details(call: Call, obj: Object) -> dict[str, str]:
    resource, metadata = call.resource, obj["metadata"]
    pairs = (
        ("name", metadata["name"]),
        ("group", resource.group),
        ("kind", resource.plural),
        ("uid", metadata["uid"]),
    )
    return {key: value for key, value in pairs if value}
