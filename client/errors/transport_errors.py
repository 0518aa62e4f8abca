# ruff: noqa: N818 - a class is named after what happened
"""No complete answer came back: what happened on the way."""

from __future__ import annotations

from enum import StrEnum

from handloop.client.errors.client_error import ClientError
from handloop.client.errors.config_errors import ConfigError


class TransportError(ClientError):
    """
    No complete answer came back.

    Fields: host = `scheme://host:port`; reason = why, for people; request = `METHOD /path`, "" when unknown;
    outcome_unknown = a write whose request may have reached the server: look again before repeating it.
    """

    def __init__(
        self, reason: str, *, host: str = "", request: str = "", outcome_unknown: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.host = host
        self.request = request
        self.outcome_unknown = outcome_unknown

    def __str__(self) -> str:
        method, _, path = self.request.partition(" ")
        where = f"{method} {self.host}{path}" if self.request else self.host
        suffix = " (outcome unknown)" if self.outcome_unknown else ""
        return f"{where}: {self.reason}{suffix}" if where else f"{self.reason}{suffix}"


class ConnectionRefused(TransportError):
    """Nobody listens there; nothing was sent."""


class ConnectionBroken(TransportError):
    """The connection ended before the answer did: reset, closed, or cut inside the body."""


class DeadlineExceeded(TransportError):
    """The answer took longer than the request may take, or a watch was silent for too long."""


class NameResolutionError(TransportError):
    """The host name has no address; nothing was sent."""


class ProxyError(TransportError):
    """The proxy refused; reason names it."""


class BadAnswer(TransportError):
    """Not an answer we accept: no HTTP, a redirect, an encoding not asked for, a body above the limit."""


class StreamClosed(TransportError):
    """The stream was closed from this side while, or before, it was read."""


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


class TLSError(TransportError):
    """
    The server's certificate was not accepted, or ours was not; nothing was sent.

    Fields: problem; issuer = who signed the server's certificate; names = what it is for (DNS names and
    addresses); not_after = its end. "" and () when the certificate could not be had.
    """

    def __init__(
        self,
        reason: str,
        *,
        host: str = "",
        request: str = "",
        problem: TLSProblem = TLSProblem.HANDSHAKE,
        issuer: str = "",
        names: tuple[str, ...] = (),
        not_after: str = "",
    ) -> None:
        super().__init__(reason, host=host, request=request)
        self.problem = problem
        self.issuer = issuer
        self.names = names
        self.not_after = not_after


class CredentialsError(TransportError):
    """No credentials could be had for a request, so it was not sent; problem says why."""

    def __init__(self, problem: ConfigError, *, host: str = "", request: str = "") -> None:
        super().__init__(str(problem), host=host, request=request)
        self.problem = problem
