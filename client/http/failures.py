"""Converts errors from sockets, TLS and HTTP into ClientErrors with a readable reason."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from handloop.client.errors import (
    BadAnswer,
    ClientError,
    ConfigError,
    ConnectionBroken,
    ConnectionRefused,
    CredentialsError,
    DeadlineExceeded,
    NameResolutionError,
    ProxyError,
    TLSError,
    TLSProblem,
    TransportError,
)
from handloop.client.http.certificate import Certificate, parse_certificate

FAILURES: Final = (OSError, http.client.HTTPException, ClientError)
"""
The errors that a request can raise. Any other error is a bug. HTTPException comes from a proxy's tunnel.
"""

# OpenSSL's X509_V_ERR_* codes
_PROBLEM_BY_CODE: Final = {
    9: TLSProblem.NOT_YET_VALID,
    10: TLSProblem.EXPIRED,
    62: TLSProblem.HOSTNAME,
    64: TLSProblem.HOSTNAME,
}
_CLIENT_ALERTS: Final = (
    "CERTIFICATE_REQUIRED",
    "ALERT_BAD_CERTIFICATE",
    "ALERT_UNKNOWN_CA",
    "ALERT_CERTIFICATE_EXPIRED",
    "ALERT_CERTIFICATE_REVOKED",
    "ALERT_CERTIFICATE_UNKNOWN",
    "ALERT_HANDSHAKE_FAILURE",
    "ALERT_ACCESS_DENIED",
)
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")

Probe = Callable[[], Certificate | None]
"""Fetches the certificate that the server presents."""


class Attempt(NamedTuple):
    """
    One attempt to send a request, as error messages describe it.

    host is `scheme://host:port`, and request is `METHOD /path`. sent is true if the request may have reached
    the server. seconds is the time limit of the attempt. probe returns the server's certificate.
    """

    host: str
    request: str
    write: bool
    sent: bool
    seconds: float
    verified_name: str
    proxy: str
    probe: Probe


def explain(error: Exception, attempt: Attempt) -> TransportError:
    """Return the TransportError to raise. Its outcome_unknown is true if a write may have arrived."""
    if isinstance(error, TransportError):
        found = error
    elif isinstance(error, ConfigError):
        found = CredentialsError(error)
    elif isinstance(error, ssl.SSLError) and not _is_end(error, attempt):
        found = _tls_error(error, attempt)
    else:
        kind, reason = _classify(error, attempt)
        found = kind(reason)
    found.host, found.request = found.host or attempt.host, found.request or attempt.request
    found.outcome_unknown = attempt.write and attempt.sent
    return found


def cause_of(error: Exception) -> BaseException | None:
    """
    Return the exception from which explain(error, ...) is raised.

    For a TransportError, explain returns the same object. In that case, its existing cause is returned,
    because an error that is its own cause would keep its frames alive.
    """
    return error.__cause__ if isinstance(error, TransportError) else error


def _is_end(error: ssl.SSLError, attempt: Attempt) -> bool:
    return attempt.sent and isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)


def _classify(error: Exception, attempt: Attempt) -> tuple[type[TransportError], str]:
    if "Tunnel connection failed" in str(error):
        return ProxyError, f"proxy {attempt.proxy} refused: {str(error).rpartition('failed: ')[2]}"
    if isinstance(error, ConnectionRefusedError) and attempt.proxy:
        return ProxyError, f"proxy {attempt.proxy} refused the connection"
    for kinds, kind, reason in _RULES:
        if isinstance(error, kinds):
            name = urlsplit(attempt.proxy or attempt.host).hostname
            return kind, reason.format(seconds=attempt.seconds, name=name, words=_words(error))
    return TransportError, _words(error)


# The first match is used, so specific errors come before their base classes.
_RULES: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[TransportError], str], ...]] = (
    (socket.gaierror, NameResolutionError, "no address for {name} ({words})"),
    (TimeoutError, DeadlineExceeded, "no complete response in {seconds:g} s"),
    (ConnectionRefusedError, ConnectionRefused, "connection refused"),
    (http.client.RemoteDisconnected, ConnectionBroken, "the server closed the connection without a response"),
    (ConnectionResetError, ConnectionBroken, "connection reset"),
    ((ConnectionError, ssl.SSLError), ConnectionBroken, "the server closed the connection"),
    (http.client.HTTPException, BadAnswer, "not a valid HTTP response: {words}"),
)


def _words(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return (error.strerror or "unknown").lower()
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error)[:200].encode("unicode_escape").decode("ascii") or type(error).__name__


def _tls_error(error: ssl.SSLError, attempt: Attempt) -> TLSError:
    """Return the TLSError for a failed handshake. If we rejected the certificate, attempt.probe is called."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _refused_certificate(error, attempt.verified_name, attempt.probe())
    # Only an error from OpenSSL has a reason.
    reason = getattr(error, "reason", None) or ""
    spelled = reason.replace("_", " ").lower()
    if any(alert in reason for alert in _CLIENT_ALERTS):
        words = f"the server did not accept our client certificate ({spelled})"
        return TLSError(words, problem=TLSProblem.CLIENT_CERTIFICATE)
    if any(sign in reason for sign in _NOT_TLS):
        return TLSError("the server does not speak TLS on this port (should the URL start with http://?)")
    return TLSError(f"TLS handshake failed ({spelled or 'connection closed'})")


def _refused_certificate(
    error: ssl.SSLCertVerificationError, name: str, shown: Certificate | None
) -> TLSError:
    problem = _PROBLEM_BY_CODE.get(error.verify_code, TLSProblem.UNTRUSTED)
    return TLSError(
        _certificate_reason(problem, name, shown, error.verify_message or ""),
        problem=problem,
        issuer=shown.issuer if shown else "",
        names=shown.names if shown else (),
        not_after=shown.not_after if shown else "",
    )


def _certificate_reason(problem: TLSProblem, name: str, shown: Certificate | None, openssl: str) -> str:
    signed = f' (signed by "{shown.issuer}")' if shown else ""
    match problem:
        case TLSProblem.EXPIRED:
            when = f" on {shown.not_after}" if shown else ""
            return f"certificate for {name} expired{when}{signed}"
        case TLSProblem.NOT_YET_VALID:
            when = f" before {shown.not_before}" if shown else " yet"
            return f"certificate for {name} is not valid{when}{signed}; is this machine's clock right?"
        case TLSProblem.HOSTNAME:
            names = ", ".join(shown.names) or "no names" if shown else "other names"
            return f"certificate is not for {name} but for {names}{signed}"
        case _:
            return f"certificate for {name} not trusted{signed}: {openssl or 'unknown authority'}"


def shown_certificate(sock: socket.socket, name: str) -> Certificate | None:
    """
    Return the certificate that the server presents on a new connection, and close the connection.

    No request, credentials or client certificate is sent.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with sock, context.wrap_socket(sock, server_hostname=name) as wrapped:
            der = wrapped.getpeercert(binary_form=True)
        return parse_certificate(der) if der else None
    except (OSError, ValueError):
        return None
