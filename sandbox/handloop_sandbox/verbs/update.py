"""
PUT: replaces an object. PATCH also uses this module to store the changed object.

Follows: apiserver pkg/endpoints/handlers/update.go, pkg/registry/generic/registry/store.go (Update),
pkg/registry/rest/update.go.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.patches import managed_fields
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.conversion import to_storage, with_unseen
from handloop_sandbox.requests.presentation import served_object
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.verbs import (
    escalation,
    limit_ranges,
    metadata,
    object_rules,
    quotas,
    security_levels,
    service_addresses,
    signing_requests,
)
from handloop_sandbox.verbs.create import (
    check_size,
    check_version,
    in_request_namespace,
    owned_once,
    report_strict,
    store_new,
    wrong_kind,
)
from handloop_sandbox.verbs.pod_admission import with_tolerations
from handloop_sandbox.verbs.signing_requests import SIGNING_REQUESTS
from handloop_sandbox.verbs.strategy import prepare_update
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.options import WriteOptions, unsigned_error, write_options
from handloop_sandbox.wire.status import (
    bad_request,
    conflict,
    internal_error,
    invalid,
    invalid_kind,
    not_found,
)

_KEPT_AS: Final = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}


class Replaced(NamedTuple):
    """The result of a write. created is true if the object is new."""

    stored: Stored
    created: bool = False


def update(call: Call) -> Response:
    """Return 200 with the object as stored. A PUT can also create objects of some kinds and return 201."""
    options = write_options(call.request.query, "UpdateOptions")
    content_type = call.request.headers.get("content-type", "")
    decoded = bodies.decode(call.request.body, content_type, call.resource, call.catalog)
    report_strict(call, decoded.strict, options)
    check_version(call, decoded.object)
    check_name(call, decoded.object)
    obj = owned_once(call, in_request_namespace(call, decoded.object))
    obj = object_rules.defaulted(call.resource, obj)
    check_uid(call, obj, options)
    replaced = replace(call, obj, options)
    return call.answer(replaced.stored, 201 if replaced.created else 200)


def replace(call: Call, obj: Object, options: WriteOptions, *, applied: bool = False) -> Replaced:
    """
    Store obj, which already has its defaults, in place of the object at the path.

    Args: applied is true if the object's managedFields are already final (server-side apply).
    """
    before = call.stored()
    given_version = obj["metadata"].get("resourceVersion", "")
    if before is None:
        return _missing(call, obj, options)
    _check_parses(given_version)
    _check_resource_version(call, given_version, before)
    old = served_object(call.resource, before)
    subresource = call.path.subresource
    if call.resource.custom and obj["kind"] != call.resource.kind:
        raise wrong_kind(call, obj)
    new = shallow_metadata(metadata.for_update(obj, old), resourceVersion=str(before.rv))
    managed = new["metadata"].get("managedFields") if applied else _managed(call, old, new, options)
    new = with_unseen(call.resource, shallow_metadata(new, managedFields=managed or None), old)
    new = _prepared(call, new, old)
    escalation.check(call, new, old)
    verdict = object_rules.validate_update(call.resource, new, old, subresource)
    for cause in verdict.warnings:
        call.warn(f"{cause.field}: {cause.message}")
    if verdict.causes:
        raise invalid(call.resource, call.name, verdict.causes)
    limit_ranges.check(call, new, old)
    security_levels.check(call, new, old)
    quotas.check(call, new, old)
    if call.resource.group_resource == SIGNING_REQUESTS:
        signing_requests.check_signer(call, new, old)
    told = [] if subresource else object_rules.notices(call.resource, new, old)
    for text in (*metadata.finalizer_warnings(new["metadata"], old["metadata"]), *told):
        call.warn(text)
    return Replaced(_store(call, new, before, options))


def _prepared(call: Call, new: Object, old: Object) -> Object:
    """Return a changed object with the changes that the endpoint allows and the fields that its kind adds."""
    resource, subresource = call.resource, call.path.subresource
    if resource.group_resource == SIGNING_REQUESTS:
        return signing_requests.changed(call, new, old)
    if resource.group_resource == PODS and not subresource:
        new = {**new, "spec": with_tolerations(new["spec"])}
    if resource.kind == "Service" and not resource.custom and not subresource:
        new = service_addresses.changed(call, new, old)
    return prepare_update(resource, new, old, subresource)


def check_name(call: Call, obj: Object) -> None:
    """Refuse (400) an object whose name differs from the one in the path."""
    name = obj["metadata"].get("name", "")
    if not name:
        text = f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        raise bad_request(text)
    if name != call.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def check_uid(call: Call, obj: Object, options: WriteOptions) -> None:
    """Refuse (409) a PUT whose uid is not the stored one. A PUT that creates an object must have none."""
    before, given = call.stored(), obj["metadata"].get("uid")
    if not given or (before is None and not call.resource.create_on_update):
        return
    actual = before.object["metadata"]["uid"] if before else ""
    if given != actual:
        where = f"{call.namespace}/{call.name}" if call.namespace else call.name
        raise conflict(
            call.resource,
            call.name,
            f"StorageError: invalid object, Code: 4, Key: {_key(call, options)}/{where}, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {given}, UID in object meta: {actual}",
        )


def _key(call: Call, options: WriteOptions) -> str:
    """Return a resource's etcd key prefix, for messages. As on a real server, dry runs omit /registry."""
    plural = call.resource.plural
    place = f"{call.resource.group}/{plural}" if call.resource.custom else _KEPT_AS.get(plural, plural)
    return f"/{place}" if options.dry_run else f"/registry/{place}"


def _check_parses(version: str) -> None:
    if version and (problem := unsigned_error(version)):
        raise internal_error(problem)


def _missing(call: Call, obj: Object, options: WriteOptions) -> Replaced:
    if not call.resource.create_on_update:
        raise not_found(call.resource, call.name)
    _check_parses(obj["metadata"].get("resourceVersion", ""))
    return Replaced(store_new(call, shallow_metadata(obj, resourceVersion=None), options), created=True)


def _check_resource_version(call: Call, given: str, before: Stored) -> None:
    if call.trusted:
        return
    if given in ("", "0"):
        if call.resource.unconditional_update:
            return
        # As on a real server, the error names the resource instead of the kind.
        cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid_kind(call.resource.group, call.resource.plural, call.name, [cause])
    if int(given) != before.rv:
        raise conflict(call.resource, call.name)


def _managed(call: Call, old: Object, new: Object, options: WriteOptions) -> list[dict[str, object]]:
    return managed_fields.record_update(
        old,
        new,
        resource=call.resource,
        manager=call.manager(options),
        now=call.context.now,
        subresource=call.path.subresource,
    )


def _store(call: Call, new: Object, before: Stored, options: WriteOptions) -> Stored:
    stored_form = to_storage(call.resource, new)
    if _same(stored_form, before.object):
        return before
    transaction = call.transaction(dry_run=options.dry_run)
    if _finishes_deletion(stored_form, before.object):
        transaction.delete(call.collection, call.namespace, call.name)
        call.commit(transaction)
        return Stored(stored_form, before.rv)
    stored = transaction.put(call.collection, stored_form)
    check_size(call, stored, options)
    call.commit(transaction)
    return stored


def _same(new: Object, old: Object) -> bool:
    """Return whether two objects are equal except for the times in managedFields."""
    if new.keys() != old.keys() or any(new[key] != old[key] for key in new if key != "metadata"):
        return False
    return _without_times(new) == _without_times(old)


def _without_times(obj: Object) -> Object:
    entries = obj["metadata"].get("managedFields") or ()
    return {
        **obj["metadata"],
        "managedFields": [{key: entry[key] for key in entry if key != "time"} for entry in entries],
    }


def _finishes_deletion(new: Object, old: Object) -> bool:
    """Return whether a change removes the last finalizer of an object that is being deleted."""
    metadata_ = new["metadata"]
    if not metadata_.get("deletionTimestamp") or metadata_.get("finalizers"):
        return False
    is_namespace = (new["apiVersion"], new["kind"]) == ("v1", "Namespace")
    if is_namespace and (new.get("spec") or {}).get("finalizers"):
        return False
    if metadata_.get("deletionGracePeriodSeconds"):
        return False
    had_own = is_namespace and bool((old.get("spec") or {}).get("finalizers"))
    return bool(old["metadata"].get("finalizers")) or had_own
