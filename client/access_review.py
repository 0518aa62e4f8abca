"""Our permissions and our identity, as the server reports them."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.resource import Resource
from handloop.client.decoding.json_text import read
from handloop.client.errors import Forbidden, NoKindMatch
from handloop.client.rest_client import Call, RESTClient

R = TypeVar("R")

_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_SUBJECT_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_BEARER_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class Permission(NamedTuple):
    """An action whose permission can be checked. A namespace of "" means all namespaces, or cluster scope."""

    verb: str
    resource: Resource
    namespace: str = ""
    subresource: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = self.resource.group_resource + (f"/{self.subresource}" if self.subresource else "")
        where = f"in namespace {self.namespace}" if self.namespace else "at cluster scope"
        return f"{self.verb} {what} {where}"


class AccessAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """
    The server's decision. denied is true only for an explicit refusal, not when no rule applies. reason can
    explain it.
    """

    allowed: bool = False
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class Identity(msgspec.Struct, frozen=True):
    """A user as the server authenticated them."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _Review(msgspec.Struct, frozen=True):
    status: AccessAnswer


class _UserInfo(msgspec.Struct, frozen=True, rename="camel"):
    user_info: Identity = Identity()


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: Identity = Identity()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _SelfReview(msgspec.Struct, frozen=True):
    status: _UserInfo


def check_access(rest: RESTClient, permission: Permission) -> AccessAnswer:
    """
    Return whether we have a permission, from a SelfSubjectAccessReview, which every user may create.

    Raises: APIError, TransportError, DecodeError.
    """
    resource = permission.resource
    attributes = {
        "verb": permission.verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "subresource": permission.subresource,
        "namespace": permission.namespace if resource.namespaced else "",
        "name": permission.name,
    }
    given = {key: value for key, value in attributes.items() if value}
    spec = {"resourceAttributes": given}
    return _post(rest, _ACCESS_REVIEWS, "SelfSubjectAccessReview", spec, _Review).status


def who_am_i(rest: RESTClient) -> Identity | None:
    """
    Return our own identity, or None if the server does not report it (before 1.28, or when forbidden).

    Raises: APIError, TransportError, DecodeError.
    """
    try:
        return _post(rest, _SELF_REVIEWS, "SelfSubjectReview", {}, _SelfReview).status.user_info
    except (NoKindMatch, Forbidden):
        return None


def whose_token(rest: RESTClient, token: str) -> Identity | None:
    """
    Return the identity of a token's owner, or None if the server rejects the token (TokenReview).

    Raises: APIError, TransportError, DecodeError.
    """
    status = _post(rest, _BEARER_REVIEWS, "TokenReview", {"token": token}, _TokenReview).status
    return status.user if status.authenticated else None


def check_path_access(rest: RESTClient, identity: Identity, path: str) -> AccessAnswer:
    """
    Return whether a user may get a path that is not a resource, such as `/metrics` (SubjectAccessReview).

    Raises: APIError, TransportError, DecodeError.
    """
    spec = {
        "user": identity.username,
        "uid": identity.uid,
        "groups": identity.groups,
        "extra": identity.extra,
        "nonResourceAttributes": {"path": path, "verb": "get"},
    }
    given = {key: value for key, value in spec.items() if value}
    return _post(rest, _SUBJECT_REVIEWS, "SubjectAccessReview", given, _Review).status


def _post(rest: RESTClient, path: str, kind: str, spec: dict[str, Any], answer: type[R]) -> R:
    review: dict[str, Any] = {"kind": kind, "apiVersion": path.removeprefix("/apis/").rpartition("/")[0]}
    if spec:
        review["spec"] = spec
    resource = path.rpartition("/")[2]
    headers = {"Content-Type": "application/json"}
    body = msgspec.json.encode(review)
    response = rest.send(Call("create", "POST", path, headers=headers, body=body, resource=resource))
    return read(decoder_of(answer).decode, response.body, "not a review")
