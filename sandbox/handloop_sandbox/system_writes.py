"""
Carries out the writes of simulated controllers.

These writes contain objects instead of bytes. Otherwise, the same code handles them and clients' requests.
"""

from __future__ import annotations

from typing import NamedTuple

from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.bodies import MisfitError, UnrecognizedError
from handloop_sandbox.requests.call import Call
from handloop_sandbox.requests.documents import Site
from handloop_sandbox.requests.presentation import served_object
from handloop_sandbox.requests.request import Context, Request
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.verbs import object_rules, pods
from handloop_sandbox.verbs.create import in_request_namespace, store_new
from handloop_sandbox.verbs.deletion import remove
from handloop_sandbox.verbs.update import replace
from handloop_sandbox.wire.negotiate import PLAIN
from handloop_sandbox.wire.options import DeleteOptions, WriteOptions
from handloop_sandbox.wire.status import Status, StatusError, bad_request, not_found, resource_not_found

_SERVER = "kube-apiserver"  # writes custom objects in their storage version, to delete them with their CRD
_VERBS = {"create": "create", "update": "update", "delete": "delete"}


class Done(NamedTuple):
    """The result of a write: its changes, or the Status with which it was refused."""

    changes: tuple[Change, ...] = ()
    refusal: Status | None = None


def carry_out(site: Site, write: Write, manager: str, context: Context) -> Done:
    """Carry out a controller's write. Args: manager is the controller's field manager."""
    try:
        call = _call(site, write, manager, context)
        _carry_out(call, write, WriteOptions(field_manager=manager))
    except StatusError as error:
        return Done(refusal=error.status)
    return Done(tuple(call.changes))


def _call(site: Site, write: Write, manager: str, context: Context) -> Call:
    resource = site.catalog.storage(write.group_resource)
    if resource is not None and resource.conversion is not None and manager != _SERVER:
        resource = site.catalog.preferred(write.group_resource)
    if resource is None:
        raise resource_not_found()
    name = "" if write.verb == "create" and not write.subresource else write.name
    path = ResourcePath(
        resource.group, resource.version, resource.plural, write.namespace, name, write.subresource
    )
    return Call(
        request=Request("", ""),
        context=context,
        state=site.state,
        catalog=site.catalog,
        resource=resource,
        path=path,
        verb=_VERBS[write.verb],
        form=PLAIN,
        trusted=True,
    )


def _carry_out(call: Call, write: Write, options: WriteOptions) -> None:
    if write.verb == "delete":
        _delete(call, write)
    elif write.subresource == "binding":
        pods.bind_to(call, (write.object or {})["target"]["name"], options)
    elif write.verb == "create":
        store_new(call, _decoded(call, write.object), options)
    else:
        replace(call, _decoded(call, write.object), options)


def _decoded(call: Call, obj: Object | None) -> Object:
    """Decode an object as if from a request, except for the parts that are the stored object's own."""
    obj, stored = obj or {}, call.stored()
    if stored and obj.get("apiVersion") != call.resource.api_version and call.resource.conversion is not None:
        obj = {**served_object(call.resource, stored), "metadata": obj["metadata"]}  # they change only that
    parts = stored.object if stored and not call.resource.custom else {}
    kept = {name: part for name, part in obj.items() if isinstance(part, dict) and part is parts.get(name)}
    rest = {name: part for name, part in obj.items() if name not in kept}
    try:
        decoded = bodies.decode_value(rest, [], call.resource, call.catalog).object | kept
    except (UnrecognizedError, MisfitError) as error:
        raise bad_request(str(error)) from error
    in_order = {name: decoded[name] for name in (*obj, *decoded) if name in decoded}
    return object_rules.defaulted(call.resource, in_request_namespace(call, in_order))


def _delete(call: Call, write: Write) -> None:
    before = call.read()
    if before is None:
        raise not_found(call.resource, call.name)
    options = DeleteOptions(
        grace_seconds=write.grace_seconds,
        propagation=write.propagation,
        uid=write.uid or None,
        resource_version=write.resource_version or None,
    )
    transaction = call.transaction(dry_run=False)
    remove(call, transaction, before, options)
    call.commit(transaction)
