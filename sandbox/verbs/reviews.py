"""
Reviews and token requests: questions in the form of a create; nothing is stored.

Follows: kubernetes pkg/registry/authorization, pkg/registry/authentication, pkg/registry/core/serviceaccount.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sandbox.patches import managed_fields
from sandbox.requests import access, bodies, tokens
from sandbox.requests.access import Attributes
from sandbox.requests.call import Call, shallow_metadata
from sandbox.requests.request import Response, User
from sandbox.storage.stored import Object
from sandbox.verbs.create import report_strict
from sandbox.wire import go_time
from sandbox.wire.causes import invalid_value
from sandbox.wire.options import WriteOptions, write_options
from sandbox.wire.resource import ServedResource
from sandbox.wire.status import StatusError, invalid_kind, not_found

_EXACTLY_ONE: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_TOKEN_SECONDS: Final = 3600
_TOKEN_REQUEST: Final = bodies.pseudo_resource(
    "authentication.k8s.io", "v1", "TokenRequest", "api.authentication.v1.TokenRequest"
)


def review(call: Call) -> Response:
    """Answer 201 with the review and its status."""
    options = write_options(call.request.query, "CreateOptions")
    obj = _decoded(call, call.resource, options)
    match call.resource.kind:
        case "SelfSubjectAccessReview":
            return _answer(call, obj, options, _access(call, call.context.user, obj))
        case "SubjectAccessReview" | "LocalSubjectAccessReview":
            return _answer(call, obj, options, _access(call, _subject(obj), obj))
        case "SelfSubjectReview":
            return _self(call, obj)
        case "SelfSubjectRulesReview":
            return _answer(call, {**obj, "spec": {}}, None, _rules(call))
    return _answer(call, obj, options, _token(call, obj))


def request_token(call: Call) -> Response:
    """Answer 201 with a token for the service account of the path."""
    options = write_options(call.request.query, "CreateOptions")
    account = call.stored()
    if account is None:
        raise not_found(call.resource, call.name)
    request = _decoded(call, _TOKEN_REQUEST, options)
    seconds = (request.get("spec") or {}).get("expirationSeconds", _TOKEN_SECONDS)
    uid = account.object["metadata"]["uid"]
    token = tokens.issue(
        call.context.signing_key,
        namespace=call.namespace,
        account=call.name,
        uid=uid,
        now=call.context.now,
        seconds=seconds,
    )
    metadata = {
        "name": call.name,
        "namespace": call.namespace,
        "uid": uid,
        "creationTimestamp": go_time.from_unix(call.context.now),
    }
    spec = {"audiences": [tokens.ISSUER], "expirationSeconds": seconds, "boundObjectRef": None}
    status = {"token": token, "expirationTimestamp": go_time.from_unix(call.context.now + seconds)}
    answer = {**request, "metadata": metadata, "spec": spec, "status": status}
    return call.answer_value(answer, 201)


def user_of_token(call: Call, token: str) -> User | None:
    """The service account a token stands for, if it is valid."""
    claims = tokens.verify(call.context.signing_key, token, call.context.now)
    return None if claims is None else account_of(claims)


def account_of(claims: Mapping[str, Any]) -> User:
    """The user that a token's claims name."""
    bound = claims["kubernetes.io"]
    account = bound["serviceaccount"]
    return access.service_account(bound["namespace"], account["name"], account["uid"])


def _decoded(call: Call, resource: ServedResource, options: WriteOptions) -> Object:
    content_type = call.request.headers.get("content-type", "")
    decoded = bodies.decode(call.request.body, content_type, resource, call.catalog)
    report_strict(call, decoded.strict, options)
    return decoded.object


def _answer(call: Call, obj: Object, options: WriteOptions | None, status: Object) -> Response:
    managed = None
    if options is not None:
        managed = managed_fields.record_update(
            None, obj, resource=call.resource, manager=call.manager(options), now=call.context.now
        )
    namespace = call.namespace or None
    answered = shallow_metadata(obj, managedFields=managed or None, namespace=namespace)
    return call.answer_value({**answered, "status": status}, 201)


def _access(call: Call, user: User, obj: Object) -> Object:
    spec = obj.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        raise _invalid("spec.resourceAttributes", None, _EXACTLY_ONE)
    if resource is not None:
        return {"allowed": access.allowed(call.state, user, _attributes(resource))}
    verb, where = (path or {}).get("verb", ""), (path or {}).get("path", "")
    return {"allowed": access.path_allowed(call.state, user, verb, where)}


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
    if not spec.get("user") and not spec.get("groups"):
        raise _invalid("spec.user", "", "at least one of user or group must be specified")
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    return {**info, "groups": list(user.groups)}


def _self(call: Call, obj: Object) -> Response:
    created = go_time.from_unix(call.context.now)
    status = {"userInfo": _user_info(call.context.user)}
    return call.answer_value({**shallow_metadata(obj, creationTimestamp=created), "status": status}, 201)


def _rules(call: Call) -> Object:
    if access.is_master(call.context.user):
        resources = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        return {
            "resourceRules": resources,
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": False,
        }
    rules = access.rules(call.state, call.context.user, call.namespace)
    return {
        "resourceRules": [rule for rule in rules if rule.get("resources")],
        "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": False,
    }


def _token(call: Call, obj: Object) -> Object:
    user = user_of_token(call, (obj.get("spec") or {}).get("token", ""))
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _user_info(user), "audiences": [tokens.ISSUER]}


def _invalid(field: str, value: Any, text: str) -> StatusError:
    # the real server leaves the kind out of this one
    return invalid_kind("authorization.k8s.io", "", "", [invalid_value(field, value, text)])
