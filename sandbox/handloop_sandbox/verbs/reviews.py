"""
Reviews, such as SubjectAccessReview. Creating a review returns an answer, but stores nothing.

Follows: kubernetes pkg/registry/{authorization,authentication}, pkg/apis/authorization/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handloop_sandbox.patches import managed_fields
from handloop_sandbox.requests import authorization, bodies
from handloop_sandbox.requests.authorization import Attributes
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.credentials import Credentials, InvalidTokenError
from handloop_sandbox.requests.request import Response, User
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.verbs.create import report_strict
from handloop_sandbox.wire import go_time, tokens
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.options import WriteOptions, write_options
from handloop_sandbox.wire.status import Cause, bad_request, invalid_kind

_EXACTLY_ONE: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_NOT_BOTH: Final = "cannot be specified in combination with resourceAttributes"


def review(call: Call) -> Response:
    """Answer 201 with the review and its status."""
    options = write_options(call.request.query, "CreateOptions")
    obj = _decoded(call, options)
    match call.resource.kind:
        case "SelfSubjectReview":
            return _self(call, obj)
        case "SelfSubjectRulesReview":
            return _answer(call, {**obj, "spec": {}}, _rules(call, obj))
    obj = _managed(call, obj, options)
    if call.resource.kind == "TokenReview":
        return _answer(call, obj, _token(call, obj))
    if causes := _causes(call, obj):
        raise invalid_kind("authorization.k8s.io", "", "", causes)  # as on a real server, without the kind
    user = call.context.user if call.resource.kind == "SelfSubjectAccessReview" else _subject(obj)
    return _answer(call, obj, _access(call, user, obj))


def _decoded(call: Call, options: WriteOptions) -> Object:
    content_type = call.request.headers.get("content-type", "")
    decoded = bodies.decode(call.request.body, content_type, call.resource, call.catalog)
    report_strict(call, decoded.strict, options)
    return decoded.object


def _managed(call: Call, obj: Object, options: WriteOptions) -> Object:
    owners = managed_fields.record_update(
        None, obj, resource=call.resource, manager=call.manager(options), now=call.context.now
    )
    return shallow_metadata(obj, managedFields=owners or None)


def _answer(call: Call, obj: Object, status: Object) -> Response:
    return call.answer_value(
        {**shallow_metadata(obj, namespace=call.namespace or None), "status": status}, 201
    )


def _causes(call: Call, obj: Object) -> list[Cause]:
    """Return the errors in an access review."""
    spec, causes = obj.get("spec") or {}, []
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        shown = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
        causes.append(invalid_value("spec.nonResourceAttributes", shown, _NOT_BOTH))
    elif resource is None and path is None:
        causes.append(invalid_value("spec.resourceAttributes", None, _EXACTLY_ONE))
    if call.resource.kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        causes.append(invalid_value("spec.user", "", "at least one of user or group must be specified"))
    metadata = obj["metadata"]
    given = {name for name in metadata if name not in ("managedFields", "namespace", "creationTimestamp")}
    if given:
        causes.append(invalid_value("metadata", metadata, "must be empty"))
    if (
        call.resource.kind == "LocalSubjectAccessReview"
        and (resource or {}).get("namespace") != call.namespace
    ):
        asked = (resource or {}).get("namespace", "")
        causes.append(
            invalid_value("spec.resourceAttributes.namespace", asked, "must match metadata.namespace")
        )
    return causes


def _access(call: Call, user: User, obj: Object) -> Object:
    spec = obj.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes") or {}
    if resource is not None:
        return {"allowed": authorization.allowed(call.state, user, _attributes(resource))}
    return {
        "allowed": authorization.path_allowed(call.state, user, path.get("verb", ""), path.get("path", ""))
    }


def _attributes(resource: Mapping[str, str]) -> Attributes:
    return Attributes(
        resource.get("verb", ""),
        resource.get("group", ""),
        resource.get("resource", ""),
        resource.get("namespace", ""),
        resource.get("name", ""),
        resource.get("subresource", ""),
    )


def _subject(obj: Object) -> User:
    spec = obj.get("spec") or {}
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))


def _self(call: Call, obj: Object) -> Response:
    created = go_time.from_unix(call.context.now)
    status = {"userInfo": call.context.user.info()}
    return call.answer_value({**shallow_metadata(obj, creationTimestamp=created), "status": status}, 201)


def _rules(call: Call, obj: Object) -> Object:
    namespace = (obj.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    if authorization.is_master(call.context.user):
        resources = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        return {
            "resourceRules": resources,
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": False,
        }
    rules = authorization.rules(call.state, call.context.user, namespace)
    return {
        "resourceRules": [rule for rule in rules if rule.get("resources")],
        "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": False,
    }


def _token(call: Call, obj: Object) -> Object:
    spec = obj.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    audiences = spec.get("audiences") or (tokens.ISSUER,)
    try:
        known = Credentials(call.context.signing_key, call.context.users)
        found = known.identify(call.state, token, call.context.now, audiences)
    except InvalidTokenError as error:
        detail = str(error)
        text = "invalid bearer token"
        return {"user": {}, "error": f"[{text}, {detail}]" if detail else text}
    return {"authenticated": True, "user": found.user.info(), "audiences": list(found.audiences)}
