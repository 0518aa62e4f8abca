# ruff: noqa: N818 - a class is named after what happened, or after the server's spelling of the reason
"""
All errors of the client, in one tree.

    ClientError
        DecodeError             the response is not the expected JSON
        ConfigError             no usable configuration; retrying cannot help until it changes
        TransportError          no complete response; retrying may help
        APIError                the server refused the request; each reason has its own class

Follows: apimachinery pkg/api/errors/errors.go, differs: each reason is a class; messages name the object.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import ClassVar, Final

from handloop.client.errors.status import Status, reason_for_code, without_values

MAX_WAIT_SECONDS: Final = 120.0


class ClientError(Exception):
    """Root of the tree."""


class InvalidName(ClientError, ValueError):
    """A string that cannot be an object's name, such as `..` or `a/b`. No request was sent."""


class DecodeError(ClientError):
    """The server sent something other than the expected JSON. The client used none of it."""


class ConfigProblem(StrEnum):
    """The kinds of configuration problem. The command line's catalog has a message for each kind."""

    NOT_FOUND = "not-found"  # no configuration was found; `looked_in` lists the places
    UNREADABLE = "unreadable"  # a named file does not exist, or cannot be read
    MALFORMED = "malformed"  # the file is not YAML, or not a kubeconfig
    CONTEXT = "context"  # the context does not exist; `available` lists those that do
    REFERENCE = "reference"  # a context names a cluster or user that does not exist
    CERTIFICATE = "certificate"  # a CA, client certificate or key is missing or broken
    SERVER = "server"  # the server address is missing or unusable
    CREDENTIALS = "credentials"  # a token file or an auth provider fails
    EXEC_PLUGIN = "exec-plugin"  # a credential program is missing or fails; `plugin` names it


@dataclass(eq=False, repr=False)
class ConfigError(ClientError):
    """There is no usable configuration."""

    kind: ConfigProblem
    """The kind of problem."""

    message: str
    """The fault, in one line."""

    _: KW_ONLY
    cause: str = ""
    """The fact that caused it."""

    fix: str = ""
    """How to fix it."""

    path: str = ""
    """The file, or the files, concerned."""

    line: int | None = None
    """The line in that file."""

    available: tuple[str, ...] = ()
    """The contexts that exist."""

    looked_in: tuple[tuple[str, str], ...] = ()
    """The places that were searched, and what each contained."""

    plugin: str = ""
    """The credential program."""

    install_hint: str = ""
    """The kubeconfig's hint on how to install the program."""

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}: {self.cause}" if self.cause else self.message


@dataclass(eq=False, repr=False)
class TransportError(ClientError):
    """No complete response came back."""

    reason: str
    """The reason, for people."""

    _: KW_ONLY
    host: str = ""
    """`scheme://host:port`."""

    request: str = ""
    """`METHOD /path`, "" when unknown."""

    outcome_unknown: bool = False
    """The write may have reached the server, so read the object before you repeat it."""

    returns_seen: int | None = None
    """How many times the server had become reachable again before this error; None if unknown."""

    def __post_init__(self) -> None:
        super().__init__(self.reason)

    def __str__(self) -> str:
        method, _, path = self.request.partition(" ")
        where = f"{method} {self.host}{path}" if self.request else self.host
        suffix = " (outcome unknown)" if self.outcome_unknown else ""
        return f"{where}: {self.reason}{suffix}" if where else f"{self.reason}{suffix}"


class ConnectionRefused(TransportError):
    """Nothing listens there. Nothing was sent."""


class ConnectionBroken(TransportError):
    """The connection was reset or closed before the response was complete."""


class DeadlineExceeded(TransportError):
    """The response took longer than the request's deadline, or a watch received no data for too long."""


class NameResolutionError(TransportError):
    """The host name has no address. No request was sent."""


class ProxyError(TransportError):
    """The proxy refused; reason names the proxy."""


class BadAnswer(TransportError):
    """An unacceptable response: not HTTP, a redirect, bad or unrequested gzip, or a body above the limit."""


class DecompressionBomb(BadAnswer):
    """A compressed response that inflates to far more than its own size."""


class StreamClosed(TransportError):
    """The client closed the stream before or during a read."""


class Cancelled(TransportError):
    """The client was stopped before the request was sent."""


class TLSProblem(StrEnum):
    """Why a TLS connection was not made."""

    UNTRUSTED = "untrusted"
    EXPIRED = "expired"
    NOT_YET_VALID = "not-yet-valid"
    HOSTNAME = "hostname"
    CLIENT_CERTIFICATE = "client-certificate"
    HANDSHAKE = "handshake"


@dataclass(eq=False, repr=False)
class TLSError(TransportError):
    """
    The TLS connection failed, for example because one side rejected the other's certificate.

    Fields: problem is the reason. The others describe the server's certificate: issuer is the issuer's name,
    names holds the DNS names and addresses for which it is valid, and not_after is when it expires. If the
    certificate is not available, the strings are "" and names is ().
    """

    _: KW_ONLY
    problem: TLSProblem = TLSProblem.HANDSHAKE
    issuer: str = ""
    names: tuple[str, ...] = ()
    not_after: str = ""


class CredentialsError(TransportError):
    """A request was not sent because no credentials were available. problem is the reason."""

    def __init__(self, problem: ConfigError, *, host: str = "", request: str = "") -> None:
        super().__init__(str(problem), host=host, request=request)
        self.problem = problem


@dataclass(eq=False, repr=False)
class APIError(ClientError):
    """The server answered with a failure."""

    by_reason: ClassVar[dict[str, type[APIError]]] = {}

    status: Status
    """The status that the server returned."""

    _: KW_ONLY
    verb: str = ""
    """The request's verb. This field and the next four are "" if unknown."""

    resource: str = ""
    """`plural.group`."""

    kind: str = ""
    """Such as `Deployment`."""

    namespace: str = ""
    """The namespace of the object."""

    name: str = ""
    """The name of the object."""

    retry_after_seconds: float | None = None
    """The server's Retry-After in seconds, or None if the response has none."""

    def __init_subclass__(cls, reasons: tuple[str, ...] = (), **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for reason in reasons:
            APIError.by_reason[reason] = cls

    def __post_init__(self) -> None:
        super().__init__(self.status.message)

    @property
    def code(self) -> int:
        """The HTTP status code, or 0 if there is none."""
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
    """400: the server does not understand the request."""


class Unauthorized(APIError, reasons=("Unauthorized",)):
    """401: the server did not accept our credentials."""


class Forbidden(APIError, reasons=("Forbidden",)):
    """403: we are not allowed to do this."""


class NotFound(APIError, LookupError, reasons=("NotFound",)):
    """404: there is no such object or namespace."""


class NoKindMatch(APIError):
    """404: the server does not serve the resource, perhaps because no CustomResourceDefinition exists."""


class MethodNotAllowed(APIError, reasons=("MethodNotAllowed",)):
    """405: the resource does not support that."""


class NotAcceptable(APIError, reasons=("NotAcceptable",)):
    """406: the server cannot answer in the format that we requested."""


class AlreadyExists(APIError, reasons=("AlreadyExists",)):
    """409 on create: an object with that name exists."""


class Conflict(APIError, reasons=("Conflict",)):
    """409: the object has changed, a precondition does not hold, or another manager owns a field."""


class Gone(APIError, reasons=("Gone",)):
    """410: that resource version is no longer served."""


class Expired(Gone, reasons=("Expired",)):
    """410 with reason Expired: the resource version or continue token is too old."""


class RequestEntityTooLarge(APIError, reasons=("RequestEntityTooLarge",)):
    """413: the object is too big."""


class UnsupportedMediaType(APIError, reasons=("UnsupportedMediaType",)):
    """415: this kind does not accept that patch type or body format."""


class Invalid(APIError, reasons=("Invalid",)):
    """422: the object breaks a rule. `status.details.causes` lists the fields."""


class TooManyRequests(APIError, reasons=("TooManyRequests",)):
    """429: the server did nothing; try again later."""


class InternalError(APIError, reasons=("InternalError", "StoreReadError")):
    """500: the server failed. A write may nevertheless have taken effect."""


class ServiceUnavailable(APIError, reasons=("ServiceUnavailable",)):
    """503: the server, or another server behind it, is not available."""


class ServerTimeout(APIError, reasons=("ServerTimeout", "Timeout")):
    """500 ServerTimeout or 504 Timeout: the server stopped waiting. A write may have taken effect."""


def error_from_status(
    status: Status,
    *,
    verb: str = "",
    resource: str = "",
    kind: str = "",
    namespace: str = "",
    name: str = "",
    retry_after_seconds: float | None = None,
) -> APIError:
    """
    Return an error whose class depends on the status's reason or, if the reason is unknown, on its code.

    A 404 becomes a NotFound if its details name an object, because that object then does not exist. Any other
    404 becomes a NoKindMatch.
    """
    if resource == "secrets":
        status = without_values(status)
    by_reason = APIError.by_reason
    found = by_reason.get(status.reason) or by_reason.get(reason_for_code(status.code), APIError)
    if found is NotFound and not status.details.name:
        found = NoKindMatch
    if retry_after_seconds is None and status.details.retry_after_seconds:
        retry_after_seconds = float(status.details.retry_after_seconds)
    return found(
        status,
        verb=verb,
        resource=resource,
        kind=kind,
        namespace=namespace,
        name=name,
        retry_after_seconds=retry_after_seconds,
    )


def is_expired(error: Exception) -> bool:
    """Return whether a resource version or continue token is too old: a 410, Gone or Expired."""
    return isinstance(error, Gone) or (isinstance(error, APIError) and error.code == 410)  # noqa: PLR2004 - HTTP Gone


def is_too_large_resource_version(error: Exception) -> bool:
    """
    Return True if the requested resource version is newer than any that the server has seen.

    Servers report this in the reason of a cause. Older servers report it only in the message of a cause, or
    in that of a Timeout.
    """
    if not isinstance(error, APIError):
        return False
    causes = error.status.details.causes
    if any(cause.reason == "ResourceVersionTooLarge" for cause in causes):
        return True
    texts = [error.status.message, *(cause.message for cause in causes)]
    return error.reason == "Timeout" and any("Too large resource version" in text for text in texts)


def seconds_asked_for(error: BaseException) -> float:
    """
    Return how many seconds the server asks us to wait before a retry, or 0 if it does not ask.

    A longer wait than 120 seconds is cut to 120.
    """
    wait = error.retry_after_seconds if isinstance(error, APIError) else None
    return min(wait or 0.0, MAX_WAIT_SECONDS)
