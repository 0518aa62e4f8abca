"""What a failed handshake means, in words that name host, reason and issuer."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import Final

from handloop.client.errors import TLSError, TLSProblem
from handloop.client.http.certificate import Certificate, parse_certificate

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
"""Fetch the certificate that the server shows."""


def tls_error(error: ssl.SSLError, *, host: str, name: str, request: str, probe: Probe) -> TLSError:
    """
    The TLSError for a failed handshake.

    Args: name is what the certificate was checked against; probe is asked only about refused certificates.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return _refused(error, host, name, request, probe())
    # an error that OpenSSL did not make has no reason
    reason = getattr(error, "reason", None) or ""
    if any(alert in reason for alert in _CLIENT_ALERTS):
        words = "the server did not accept our client certificate"
        return _error(f"{words} ({_words(reason)})", host, request, TLSProblem.CLIENT_CERTIFICATE)
    if any(sign in reason for sign in _NOT_TLS):
        words = "the server does not speak TLS there (is it http:// instead of https://?)"
        return _error(words, host, request, TLSProblem.HANDSHAKE)
    words = f"TLS handshake failed ({_words(reason) or 'connection closed'})"
    return _error(words, host, request, TLSProblem.HANDSHAKE)


def _error(words: str, host: str, request: str, problem: TLSProblem) -> TLSError:
    return TLSError(words, host=host, request=request, problem=problem)


def _refused(
    error: ssl.SSLCertVerificationError, host: str, name: str, request: str, shown: Certificate | None
) -> TLSError:
    problem = _PROBLEM_BY_CODE.get(error.verify_code, TLSProblem.UNTRUSTED)
    return TLSError(
        _reason(problem, name, shown, error.verify_message or ""),
        host=host,
        request=request,
        problem=problem,
        issuer=shown.issuer if shown else "",
        names=shown.names if shown else (),
        not_after=shown.not_after if shown else "",
    )


def _reason(problem: TLSProblem, name: str, shown: Certificate | None, openssl: str) -> str:
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


def _words(reason: str) -> str:
    return reason.replace("_", " ").lower()


def shown_certificate(sock: socket.socket, name: str) -> Certificate | None:
    """
    The certificate that the server behind a fresh connection shows; closes the connection.

    Nothing is sent over it: no request, no credentials, no client certificate.
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
