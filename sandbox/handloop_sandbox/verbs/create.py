"""
POST: creates an object.

`create` decodes the body. `store_new` completes, validates and stores the object. PUTs, applies and
controllers that create objects use `store_new`, too.
Follows: apiserver pkg/endpoints/handlers/create.go, pkg/registry/generic/registry/store.go (Create),
plugin/pkg/admission/namespace/lifecycle.
"""

from __future__ import annotations

from handloop_sandbox.cluster.cluster_controller import new_name
from handloop_sandbox.patches import managed_fields
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.conversion import to_storage
from handloop_sandbox.requests.definitions import definition_of
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.verbs import escalation, limit_ranges, metadata, object_rules, quotas, security_levels
from handloop_sandbox.verbs.strategy import prepare_create
from handloop_sandbox.wire.go_yaml import DUPLICATES
from handloop_sandbox.wire.options import WriteOptions, unsigned_error, write_options
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import (
    StatusError,
    already_exists,
    bad_request,
    failure,
    forbidden,
    internal_error,
    invalid,
    invalid_kind,
)

_LARGEST = 1_572_864 - 512
"""The size of the largest value that etcd accepts, minus the object's key and the start of its JSON."""
_NAMESPACES = GroupResource("", "namespaces")


def create(call: Call) -> Response:
    """Answer 201 with the object as stored."""
    options = write_options(call.request.query, "CreateOptions")
    content_type = call.request.headers.get("content-type", "")
    decoded = bodies.decode(call.request.body, content_type, call.resource, call.catalog)
    report_strict(call, decoded.strict, options)
    check_version(call, decoded.object)
    obj = owned_once(call, metadata.without_system_fields(in_request_namespace(call, decoded.object)))
    stored = store_new(call, object_rules.defaulted(call.resource, obj), options)
    return call.answer(stored, 201)


def store_new(call: Call, obj: Object, options: WriteOptions, *, applied: bool = False) -> Stored:
    """
    Complete, validate and store a new object that already has its defaults.

    Args: applied is true if the object's managedFields are already final (server-side apply).
    """
    check_namespace(call, obj["metadata"].get("name", ""))
    _check_definition(call, obj["metadata"].get("name", ""))
    escalation.check(call, obj, None)
    requested_version = obj["metadata"].get("resourceVersion", "")
    managed = obj["metadata"].get("managedFields") if applied else _managed(call, obj, options)
    obj = named(call, metadata.for_create(obj, call.context, with_generation=call.resource.has_generation))
    obj = prepare_create(call, shallow_metadata(obj, managedFields=managed or None))
    check(call, obj)
    limit_ranges.check(call, obj)
    security_levels.check(call, obj)
    quotas.check(call, obj)
    if not options.dry_run and not unsigned_error(requested_version) and int(requested_version):
        raise internal_error("resourceVersion should not be set on objects to be created")
    if requested_version:
        obj = shallow_metadata(obj, resourceVersion=requested_version)
    transaction = call.transaction(dry_run=options.dry_run)
    existing = transaction.get(call.collection, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    if existing is not None:
        raise _name_taken(call, existing)
    stored = transaction.put(call.collection, to_storage(call.resource, obj))
    check_size(call, stored, options)
    call.commit(transaction)
    return stored


def check_size(call: Call, stored: Stored, options: WriteOptions) -> None:
    """Refuse (500) custom resources too large for etcd. Built-in kinds (stored as protobuf) pass."""
    if call.resource.custom and not options.dry_run and len(stored.tail) > _LARGEST:
        raise internal_error("etcdserver: request is too large")


def report_strict(call: Call, strict: list[str], options: WriteOptions) -> None:
    """Refuse a request with strict decoding errors, warn about them, or ignore them, as requested."""
    if not strict or options.field_validation == "Ignore":
        return
    if options.field_validation == "Strict":
        kind = call.resource.kind
        text = f'{kind} in version "{call.resource.version}" cannot be handled as a {kind}: '
        raise bad_request(f"{text}strict decoding error: {', '.join(strict)}")
    for problem in strict:
        for text in problem.removeprefix(DUPLICATES).split("\n"):
            call.warn(text.strip())


def owned_once(call: Call, obj: Object, *, patched: bool = False) -> Object:
    """Return the object without repeated owner references, and warn about them."""
    obj, repeated = metadata.owned_once(obj)
    if repeated:
        when = " after mutating admission happens" if patched else ""
        call.warn(
            f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references "
            "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate "
            f"UID(s) observed: {repeated}"
        )
    return obj


def check_version(call: Call, obj: Object) -> None:
    """Refuse (400) a custom resource whose version differs from the one in the path."""
    expected, given = call.resource.api_version, obj.get("apiVersion") or ""
    if given != expected:
        raise bodies.wrong_version(given, expected)


def in_request_namespace(call: Call, obj: Object) -> Object:
    """Return the object with the path's namespace. Refuse (400) a different namespace in the body."""
    given = obj["metadata"].get("namespace", "")
    if not call.resource.namespaced:
        kept = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
        return {**obj, "metadata": kept}
    if given and given != call.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return {**obj, "metadata": {**obj["metadata"], "namespace": call.namespace}}


def check_namespace(call: Call, name: str) -> None:
    """Refuse to create an object in a namespace that is missing (404) or being deleted (403)."""
    if not call.resource.namespaced:
        return
    namespace = call.state.get(_NAMESPACES, "", call.namespace)
    if namespace is None:
        details = {"name": call.namespace, "kind": "namespaces"}
        text = f'namespaces "{call.namespace}" not found'
        raise StatusError(failure(404, "NotFound", text, details=details))
    if namespace["metadata"].get("deletionTimestamp"):
        raise _terminating(call, name)


def named(call: Call, obj: Object) -> Object:
    """Return the object with a name. If it does not have one, generate one from generateName."""
    given = obj["metadata"]
    if given.get("name") or not given.get("generateName"):
        return obj
    name = new_name(given["generateName"], call.context.random)
    call.makes_name = True
    return {**obj, "metadata": {**given, "name": name}}


def check(call: Call, obj: Object) -> None:
    """Refuse (422) an object that breaks the rules of its kind."""
    resource = call.resource
    name = obj["metadata"].get("name", "")
    if resource.custom and obj["kind"] != resource.kind:
        causes = [
            object_rules.kind_cause(obj["kind"], resource.kind),
            *object_rules.list_causes(resource, obj),
        ]
        raise invalid_kind(resource.group, obj["kind"], name, causes)
    causes = object_rules.validate_new(resource, obj)
    if causes:
        raise invalid(resource, name, causes)
    for text in (*metadata.finalizer_warnings(obj["metadata"]), *object_rules.notices(resource, obj)):
        call.warn(text)


def wrong_kind(call: Call, obj: Object) -> StatusError:
    """Return the error for a custom resource that names another kind."""
    from_kind = object_rules.kind_cause(obj["kind"], call.resource.kind)
    return invalid_kind(call.resource.group, obj["kind"], obj["metadata"].get("name", ""), [from_kind])


def _check_definition(call: Call, name: str) -> None:
    if not call.resource.custom:
        return
    definition = definition_of(call.state, call.resource)
    if definition is not None and definition["metadata"].get("deletionTimestamp"):
        text = "create not allowed while custom resource definition is terminating"
        raise forbidden(call.resource, name, text)


def _managed(call: Call, obj: Object, options: WriteOptions) -> list[dict[str, object]]:
    return managed_fields.record_update(
        None,
        obj,
        resource=call.resource,
        manager=call.manager(options),
        now=call.context.now,
    )


def _name_taken(call: Call, existing: Object) -> StatusError:
    error = already_exists(call.resource, existing["metadata"]["name"])
    if existing["metadata"].get("deletionTimestamp"):
        error.status["message"] = f"object is being deleted: {error.status['message']}"
    return error


def _terminating(call: Call, name: str) -> StatusError:
    text = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    detail = f"namespace {call.namespace} is being terminated"
    error = forbidden(call.resource, name, text)
    error.status["details"]["causes"] = [
        {"reason": "NamespaceTerminating", "message": detail, "field": "metadata.namespace"}
    ]
    return error
