"""From whatever a socket, TLS or HTTP raises to one of our errors, with a reason for people."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
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
    TransportError,
)
from handloop.client.http.chunked import ChunkError
from handloop.client.http.tls_errors import Probe, tls_error

FAILURES: Final = (OSError, http.client.HTTPException, ChunkError, ConfigError)
"""What a request may raise on its way; anything else is a bug."""


class Attempt(NamedTuple):
    """
    What was tried: against which host (`scheme://host:port`), which request (`METHOD /path`), how far.

    sent = the request may have reached the server; seconds = what it was given.
    """

    host: str
    request: str
    write: bool
    sent: bool
    seconds: float
    verified_name: str
    proxy: str
    probe: Probe


def explain(error: Exception, attempt: Attempt) -> ClientError:
    """The error to raise for error; outcome_unknown is set for a write that may have reached the server."""
    found = _explain(error, attempt)
    found.outcome_unknown = attempt.write and attempt.sent
    return found


def _explain(error: Exception, attempt: Attempt) -> TransportError:
    host, request = attempt.host, attempt.request
    if isinstance(error, TransportError):
        error.host, error.request = error.host or host, error.request or request
        return error
    if isinstance(error, ConfigError):
        return CredentialsError(error, host=host, request=request)
    if isinstance(error, ssl.SSLError) and not _is_end(error, attempt):
        name, probe = attempt.verified_name, attempt.probe
        return tls_error(error, host=host, name=name, request=request, probe=probe)
    kind, reason = _classify(error, attempt)
    return kind(reason, host=host, request=request)


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


# The first that fits; more special ones before the general ones they derive from.
_RULES: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[TransportError], str], ...]] = (
    (socket.gaierror, NameResolutionError, "no address for {name} ({words})"),
    (TimeoutError, DeadlineExceeded, "no complete answer in {seconds:g} s"),
    (ConnectionRefusedError, ConnectionRefused, "connection refused"),
    (http.client.RemoteDisconnected, ConnectionBroken, "the server closed the connection without an answer"),
    (ConnectionResetError, ConnectionBroken, "connection reset"),
    (http.client.IncompleteRead, ConnectionBroken, "the answer was cut off"),
    ((ConnectionError, ssl.SSLError), ConnectionBroken, "the server closed the connection"),
    ((ChunkError, http.client.HTTPException), BadAnswer, "not a valid HTTP answer: {words}"),
)


def _words(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return (error.strerror or "unknown").lower()
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error)[:200].encode("unicode_escape").decode("ascii") or type(error).__name__
