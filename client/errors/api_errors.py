# ruff: noqa: N818 - class names are the reasons as the server spells them
"""
The server answered "no": one class for each reason.

Follows: apimachinery pkg/api/errors/errors.go, differs: reasons are classes; messages name verb and object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from handloop.apis.resource import Resource
from handloop.client.errors.client_error import ClientError
from handloop.client.errors.status import Status, StatusDetails

MAX_WAIT_SECONDS: Final = 120.0


class APIError(ClientError):
    """
    The server answered with a failure.

    Fields: status = its Status; verb, resource (`plural.group`), namespace, name = what was asked, "" where
    unknown; retry_after_seconds = the server's wish, None when it had none.
    """

    by_reason: ClassVar[dict[str, type[APIError]]] = {}

    def __init_subclass__(cls, reasons: tuple[str, ...] = (), **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for reason in reasons:
            APIError.by_reason[reason] = cls

    def __init__(
        self,
        status: Status,
        *,
        verb: str = "",
        resource: str = "",
        namespace: str = "",
        name: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(status.message)
        self.status = status
        self.verb = verb
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.retry_after_seconds = retry_after_seconds

    @property
    def code(self) -> int:
        """The HTTP status code, 0 when there is none."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The server's one-word reason."""
        return self.status.reason

    def __str__(self) -> str:
        message = self.status.message or self.status.reason or "no message"
        if not self.verb:
            return message
        target = "/".join(part for part in (self.namespace, self.name) if part)
        what = " ".join(part for part in (self.verb, self.resource, target) if part)
        facts = " ".join(str(part) for part in (self.status.code, self.status.reason) if part)
        return f"{what}: {message} ({facts})" if facts else f"{what}: {message}"


class BadRequest(APIError, reasons=("BadRequest",)):
    """400: the request makes no sense to the server."""


class Unauthorized(APIError, reasons=("Unauthorized",)):
    """401: our credentials were not accepted."""


class Forbidden(APIError, reasons=("Forbidden",)):
    """403: we may not do this."""


class NotFound(APIError, reasons=("NotFound",)):
    """404: no such object, or no such resource."""


class MethodNotAllowed(APIError, reasons=("MethodNotAllowed",)):
    """405: the resource does not do that."""


class NotAcceptable(APIError, reasons=("NotAcceptable",)):
    """406: the server cannot answer in the format we asked for."""


class AlreadyExists(APIError, reasons=("AlreadyExists",)):
    """409 on create: there is an object of that name."""


class Conflict(APIError, reasons=("Conflict",)):
    """409: the object has changed, or a precondition or field ownership does not hold."""


class Gone(APIError, reasons=("Gone",)):
    """410: that resource version is no longer served."""


class Expired(Gone, reasons=("Expired",)):
    """410 in its other spelling; also an expired continue token."""


class RequestEntityTooLarge(APIError, reasons=("RequestEntityTooLarge",)):
    """413: the object is too big."""


class UnsupportedMediaType(APIError, reasons=("UnsupportedMediaType",)):
    """415: this kind does not take that patch type or body format."""


class Invalid(APIError, reasons=("Invalid",)):
    """422: the object breaks a rule; `status.details.causes` has the fields."""


class TooManyRequests(APIError, reasons=("TooManyRequests",)):
    """429: the server did not act; try later."""


class InternalError(APIError, reasons=("InternalError", "StoreReadError")):
    """500: the server failed; a write may have happened."""


class ServiceUnavailable(APIError, reasons=("ServiceUnavailable",)):
    """503: the server, or the one behind it, is not there."""


class ServerTimeout(APIError, reasons=("ServerTimeout", "Timeout")):
    """500 ServerTimeout or 504 Timeout: the server gave up waiting; a write may have happened."""


def error_from_status(
    status: Status,
    *,
    verb: str = "",
    resource: str = "",
    namespace: str = "",
    name: str = "",
    retry_after_seconds: float | None = None,
) -> APIError:
    """The error class that fits the status: by reason, or by code for a reason we do not know."""
    kind = APIError.by_reason.get(status.reason) or _class_for_code(status.code)
    if retry_after_seconds is None and status.details.retry_after_seconds:
        retry_after_seconds = float(status.details.retry_after_seconds)
    return kind(
        status,
        verb=verb,
        resource=resource,
        namespace=namespace,
        name=name,
        retry_after_seconds=retry_after_seconds,
    )


_CLASS_BY_CODE: Mapping[int, type[APIError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: ServerTimeout,
}


def _class_for_code(code: int) -> type[APIError]:
    return _CLASS_BY_CODE.get(code, APIError)


def new_not_found(resource: Resource, name: str) -> NotFound:
    """What a lister raises for a name that its cache does not hold."""
    status = Status(
        code=404,
        reason="NotFound",
        message=f'{resource.group_resource} "{name}" not found',
        details=StatusDetails(name=name, group=resource.group, kind=resource.plural),
    )
    return NotFound(status, resource=resource.group_resource, name=name)


def is_expired(error: Exception) -> bool:
    """Whether a resource version or continue token is too old: 410 in either spelling."""
    return isinstance(error, Gone) or (isinstance(error, APIError) and error.code == 410)  # noqa: PLR2004 - HTTP Gone


def is_too_large_resource_version(error: Exception) -> bool:
    """
    Whether the server has not yet seen the resource version we asked for.

    A cause says so; older servers say it in a cause's message, or only in the message of a Timeout.
    """
    if not isinstance(error, APIError):
        return False
    causes = error.status.details.causes
    if any(cause.reason == "ResourceVersionTooLarge" for cause in causes):
        return True
    texts = [error.status.message, *(cause.message for cause in causes)]
    return error.reason == "Timeout" and any("Too large resource version" in text for text in texts)


def seconds_asked_for(error: BaseException) -> float:
    """The wait that the server asks for before a new attempt: two minutes at most, 0 for none."""
    wait = error.retry_after_seconds if isinstance(error, APIError) else None
    return min(wait or 0.0, MAX_WAIT_SECONDS)
