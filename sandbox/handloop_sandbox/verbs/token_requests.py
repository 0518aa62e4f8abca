"""
TokenRequests: creating a TokenRequest returns a new token for a service account, and stores nothing.

Follows: kubernetes pkg/registry/core/serviceaccount/storage/token.go, pkg/apis/authentication/validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from handloop_sandbox.patches import managed_fields
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.verbs.create import report_strict
from handloop_sandbox.wire import go_time, tokens
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.options import WriteOptions, write_options
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Cause, bad_request, conflict, invalid, not_found
from handloop_sandbox.wire.tokens import Reference

_SECONDS: Final = 3600
_LEAST_SECONDS: Final = 600
_MOST_SECONDS: Final = 2**32
_KIND: Final = bodies.pseudo_resource(
    "authentication.k8s.io", "v1", "TokenRequest", "api.authentication.v1.TokenRequest"
)
_NODES: Final = GroupResource("", "nodes")
_BOUND: Final = {"Node": "nodes", "Pod": "pods", "Secret": "secrets"}


def request_token(call: Call) -> Response:
    """Answer 201 with a token for the service account in the path."""
    options = write_options(call.request.query, "CreateOptions")
    request = _decoded(call, options)
    _check_names(call, request)
    account = call.stored()
    if account is None:
        raise not_found(call.resource, call.name)
    spec = request.get("spec") or {}
    seconds = spec.get("expirationSeconds", _SECONDS)
    if causes := _duration_causes(seconds):
        raise invalid(_KIND, "", causes)
    reference = spec.get("boundObjectRef")
    bound = _bound(call, reference)
    audiences = spec.get("audiences") or [tokens.ISSUER]
    token = _token(call, account, seconds, audiences, bound)
    status = {"token": token, "expirationTimestamp": _time(call, seconds)}
    spec = {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference}
    answer = {
        **request,
        "metadata": _metadata(call, account, request, options),
        "spec": spec,
        "status": status,
    }
    return call.answer_value(answer, 201)


def _decoded(call: Call, options: WriteOptions) -> Object:
    content_type = call.request.headers.get("content-type", "")
    decoded = bodies.decode(call.request.body, content_type, _KIND, call.catalog)
    report_strict(call, decoded.strict, options)
    return decoded.object


def _check_names(call: Call, request: Object) -> None:
    for name, expected in (("name", call.name), ("namespace", call.namespace)):
        given = request["metadata"].get(name, "")
        if given not in ("", expected):
            text = f"must match the service account {name} if specified"
            raise invalid(_KIND, call.name, [invalid_value(f"metadata.{name}", given, text)])


def _duration_causes(seconds: int) -> list[Cause]:
    if seconds < _LEAST_SECONDS:
        text = "may not specify a duration less than 10 minutes"
    elif seconds > _MOST_SECONDS:
        text = "may not specify a duration larger than 2^32 seconds"
    else:
        return []
    return [invalid_value("spec.expirationSeconds", seconds, text)]


def _bound(call: Call, reference: Any) -> dict[str, Reference]:
    """
    Return the objects that a token is bound to: the referenced object and, for a pod, its node.

    Raises: StatusError if the reference does not name an existing pod, node or secret, or if the pod runs as
    another service account.
    """
    if reference is None:
        return {}
    kind, name = reference.get("kind", ""), reference.get("name", "")
    group, _, version = reference.get("apiVersion", "").rpartition("/")
    if (group, version) != ("", "v1") or kind not in _BOUND:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    collection = GroupResource("", _BOUND[kind])
    bound = call.state.get(collection, "" if kind == "Node" else call.namespace, name)
    resource = call.catalog.by_kind("", "v1", kind)
    assert resource is not None
    if bound is None:
        raise not_found(resource, name)
    uid = reference.get("uid")
    if uid and uid != bound["metadata"]["uid"]:
        text = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        raise conflict(resource, name, f"{text}The object might have been deleted and then recreated")
    runs_as = (bound.get("spec") or {}).get("serviceAccountName")
    if kind == "Pod" and runs_as != call.name:
        text = (
            f'cannot bind token for serviceaccount "{call.name}" to pod running with different serviceaccount'
        )
        raise bad_request(f"{text} name.")
    node = call.state.get(_NODES, "", (bound.get("spec") or {}).get("nodeName", ""))
    return {kind.lower(): Reference.of(bound), **({} if node is None else {"node": Reference.of(node)})}


def _token(
    call: Call, account: Stored, seconds: int, audiences: Sequence[str], bound: Mapping[str, Reference]
) -> str:
    claims = tokens.bound_claims(
        call.namespace,
        Reference.of(account.object),
        now=call.context.now,
        seconds=seconds,
        token_id=call.context.new_uid(),
        audiences=audiences,
        bound=bound,
    )
    return tokens.sign(call.context.signing_key, claims)


def _time(call: Call, seconds: int = 0) -> str:
    return go_time.from_unix(call.context.now + seconds)


def _metadata(call: Call, account: Stored, request: Object, options: WriteOptions) -> Object:
    seconds = (request.get("spec") or {}).get("expirationSeconds", _SECONDS)
    new = {**request, "spec": {**(request.get("spec") or {}), "expirationSeconds": seconds}}
    owners = managed_fields.record_update(
        None,
        new,
        resource=_KIND,
        manager=call.manager(options),
        now=call.context.now,
        subresource="token",
    )
    metadata: Object = shallow_metadata(
        request,
        name=call.name,
        namespace=call.namespace,
        uid=account.object["metadata"]["uid"],
        creationTimestamp=_time(call),
        managedFields=owners or None,
    )["metadata"]
    return metadata
