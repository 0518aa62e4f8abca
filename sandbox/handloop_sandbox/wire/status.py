"""
Error responses as `kind: Status` objects: in protobuf for clients that accept only that, otherwise in JSON.

A protobuf envelope is `k8s`, a zero byte, and a runtime.Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: raw,
3: encoding, 4: type}. Empty strings are written too, as in Go's generated code.
Follows: apimachinery pkg/api/errors, pkg/util/validation/field, pkg/apis/meta/v1/generated.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.wire.protobuf_output import content as _bytes
from handloop_sandbox.wire.protobuf_output import text as _text
from handloop_sandbox.wire.protobuf_output import whole as _number
from handloop_sandbox.wire.resource import ServedResource

Status = dict[str, Any]

OBJECT_MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
SERVER_REJECTED = "the server rejected our request due to an error in our request"


class Cause(NamedTuple):
    """
    An error in an object: its reason (such as `FieldValueInvalid`), message and field.

    message is the text after the field, such as `Invalid value: -1: must be greater than or equal to 0`.
    """

    reason: str
    message: str
    field: str


class StatusError(Exception):
    """A request failed. The response consists of this Status and these headers."""

    def __init__(self, status: Status, headers: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(status["message"])
        self.status = status
        self.headers = tuple(headers)

    @property
    def code(self) -> int:
        """The HTTP status."""
        code: int = self.status["code"]
        return code

    @property
    def reason(self) -> str:
        """The machine-readable reason, or "" if the Status has none."""
        reason: str = self.status.get("reason", "")
        return reason


class PageNotFoundError(Exception):
    """The path does not exist. The server answers in plain text instead of a Status."""


def failure(
    code: int,
    reason: str,
    message: str,
    *,
    details: Mapping[str, Any] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Status:
    """Return the Status of a failure."""
    status: Status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": dict(metadata or {}),
        "status": "Failure",
    }
    status["message"] = message
    if reason:
        status["reason"] = reason
    if details is not None:
        status["details"] = dict(details)
    status["code"] = code
    return status


def success(details: Mapping[str, Any] | None = None, *, code: int = 0) -> Status:
    """Return the Status of a successful request, such as a DELETE."""
    status: Status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        status["details"] = dict(details)
    if code:
        status["code"] = code
    return status


def _details(group: str, kind: str, name: str) -> dict[str, Any]:
    pairs = (("name", name), ("group", group), ("kind", kind))
    return {key: value for key, value in pairs if value}


def _about(resource: ServedResource, name: str) -> dict[str, Any]:
    return _details(resource.group, resource.plural, name)


def not_found(resource: ServedResource, name: str) -> StatusError:
    """Return a 404: the object does not exist."""
    message = f'{resource.qualified} "{name}" not found'
    return StatusError(failure(404, "NotFound", message, details=_about(resource, name)))


def resource_not_found() -> StatusError:
    """Return a 404: no served version has such a resource."""
    return StatusError(
        failure(404, "NotFound", "the server could not find the requested resource", details={})
    )


def already_exists(resource: ServedResource, name: str) -> StatusError:
    """Return a 409: an object with this name already exists."""
    message = f'{resource.qualified} "{name}" already exists'
    return StatusError(failure(409, "AlreadyExists", message, details=_about(resource, name)))


def conflict(resource: ServedResource, name: str, message: str = OBJECT_MODIFIED) -> StatusError:
    """Return a 409: a precondition has failed."""
    text = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {message}'
    return StatusError(failure(409, "Conflict", text, details=_about(resource, name)))


def bad_request(message: str) -> StatusError:
    """Return a 400: the request is malformed or contradictory."""
    return StatusError(failure(400, "BadRequest", message))


def unauthorized() -> StatusError:
    """Return a 401: the credentials are missing or wrong."""
    return StatusError(failure(401, "Unauthorized", "Unauthorized"))


def forbidden(
    resource: ServedResource, name: str, message: str, *, causes: Sequence[Cause] = ()
) -> StatusError:
    """Return a 403. message is the text after `is forbidden: `."""
    quoted = f' "{name}"' if name else ""
    details = _about(resource, name)
    if causes:
        details["causes"] = [_cause(cause) for cause in causes]
    text = f"{resource.qualified}{quoted} is forbidden: {message}"
    return StatusError(failure(403, "Forbidden", text, details=details))


def forbidden_path(user: str, verb: str, path: str) -> StatusError:
    """Return a 403 for a path that does not belong to a resource."""
    message = f'forbidden: User "{user}" cannot {verb} path "{path}"'
    return StatusError(failure(403, "Forbidden", message, details={}))


def method_not_allowed(resource: ServedResource, verb: str) -> StatusError:
    """Return a 405: the resource does not support the verb."""
    message = f'{verb} is not supported on resources of kind "{resource.qualified}"'
    return StatusError(failure(405, "MethodNotAllowed", message, details=_about(resource, "")))


def wrong_method() -> StatusError:
    """Return a 405: the path does not support the method."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(failure(405, "MethodNotAllowed", message, details={}))


def expired(message: str, *, continue_token: str = "") -> StatusError:
    """Return a 410: a resource version or continue token is too old."""
    metadata = {"continue": continue_token} if continue_token else {}
    return StatusError(failure(410, "Expired", message, metadata=metadata))


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """Return a 406: the server produces none of the requested media types."""
    text = "only the following media types are accepted: " + ", ".join(accepted)
    return StatusError(failure(406, "NotAcceptable", text))


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """Return a 415: the resource does not accept the format of the request body."""
    text = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(failure(415, "UnsupportedMediaType", text + ", ".join(accepted)))


def request_entity_too_large(limit: int) -> StatusError:
    """Return a 413: the body is larger than limit bytes."""
    text = f"Request entity too large: limit is {limit}"
    return StatusError(failure(413, "RequestEntityTooLarge", text))


def internal_error(message: str) -> StatusError:
    """Return a 500 with this message and without a reason."""
    return StatusError(failure(500, "", message))


def internal_failure(text: str) -> StatusError:
    """Return a 500 with the reason InternalError."""
    details = {"causes": [{"message": text}]}
    return StatusError(failure(500, "InternalError", f"Internal error occurred: {text}", details=details))


def initializing(why: str) -> StatusError:
    """Return a 429: objects cannot be listed or watched yet."""
    message = f"storage is (re)initializing: {why}"
    status = failure(429, "TooManyRequests", message, details={"retryAfterSeconds": 1})
    return StatusError(status, [("Retry-After", "1")])


def not_implemented(message: str) -> StatusError:
    """Return a 501: the sandbox cannot provide this feature."""
    return StatusError(failure(501, "NotImplemented", message))


def too_large_resource_version(asked: int, current: int) -> StatusError:
    """Return a 504: the resource version does not exist yet, and the client should retry after a second."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return StatusError(failure(504, "Timeout", message, details=details), [("Retry-After", "1")])


def invalid(resource: ServedResource, name: str, causes: Sequence[Cause]) -> StatusError:
    """Return a 422: the object is invalid for its kind."""
    # Events of both groups are stored and validated as core/v1 Events.
    group = "" if resource.group == "events.k8s.io" else resource.group
    return invalid_kind(group, resource.kind, name, causes)


def invalid_kind(group: str, kind: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """Return a 422 for a kind that is given by group and name, such as the options of a request."""
    details = _details(group, kind, name)
    details["causes"] = [_cause(cause) for cause in causes]
    qualified = f"{kind}.{group}" if group else kind
    message = f'{qualified} "{name}" is invalid: {_joined(causes)}'
    return StatusError(failure(422, "Invalid", message, details=details))


def _joined(causes: Sequence[Cause]) -> str:
    # As in ErrorList.ToAggregate, the text contains equal errors only once. The causes contain all of them.
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _cause(cause: Cause) -> dict[str, str]:
    return {"reason": cause.reason, "message": cause.message, "field": cause.field}


_MAGIC: Final = b"k8s\0"


def as_protobuf(status: Mapping[str, Any]) -> bytes:
    """Return a Status as protobuf."""
    kind = _text(1, status["apiVersion"]) + _text(2, status["kind"])
    return _MAGIC + _bytes(1, kind) + _bytes(2, _status_bytes(status)) + _text(3, "") + _text(4, "")


def _status_bytes(status: Mapping[str, Any]) -> bytes:
    metadata = status.get("metadata") or {}
    listing = _text(1, "") + _text(2, "") + _text(3, metadata.get("continue", ""))
    texts = (_text(2, status["status"]), _text(3, status["message"]), _text(4, status.get("reason", "")))
    details = status.get("details")
    about = b"" if details is None else _bytes(5, _details_bytes(details))
    return b"".join((_bytes(1, listing), *texts, about, _number(6, status["code"])))


def _details_bytes(details: Mapping[str, Any]) -> bytes:
    names = (_text(number, details.get(key, "")) for number, key in ((1, "name"), (2, "group"), (3, "kind")))
    causes = (_bytes(4, _cause_bytes(cause)) for cause in details.get("causes") or ())
    delay = _number(5, details.get("retryAfterSeconds", 0))
    return b"".join((*names, *causes, delay, _text(6, details.get("uid", ""))))


def _cause_bytes(cause: Mapping[str, str]) -> bytes:
    keys = ((1, "reason"), (2, "message"), (3, "field"))
    return b"".join(_text(number, cause.get(key, "")) for number, key in keys)
