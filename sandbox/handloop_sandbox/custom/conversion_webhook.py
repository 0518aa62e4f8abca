"""
Calls a conversion webhook over HTTPS as kube-apiserver does. Errors are worded as in Go.

Follows: apiserver pkg/util/webhook/client.go, client-go rest/request.go, apimachinery pkg/api/errors
(NewGenericServerResponse), Go's net/http and crypto/x509.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

SECONDS: Final = 30.0
_BLOCK: Final = 64 * 1024
_MOST_OF_A_TEXT: Final = 2048
_EXPIRED, _NOT_YET = 10, 9  # X509_V_ERR_...
_TOLD: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be processing the "
        "request"
    ),
}
_IN_ITS_WORDS: Final = (403, 406, 415)
_SUCCESS: Final = 2


class CallError(Exception):
    """A call to a conversion webhook failed. The message begins with `failed: `."""


class Target(NamedTuple):
    """
    The location of a webhook, and how to verify its certificate.

    The sandbox connects to host and port. The certificate must be valid for name, and be signed by one of
    the authorities (PEM). If the webhook has no address, problem contains the reason.
    """

    url: str
    host: str
    port: int
    name: str
    authorities: str
    problem: str = ""


def call(target: Target, body: bytes, *, seconds: float = SECONDS) -> bytes:
    """
    Send a request body to a webhook and return the body of its response.

    Raises: CallError if the webhook cannot be reached or reports a failure. Blocks: until the response has
    arrived or the timeout (in seconds) has passed.
    """
    until = time.monotonic() + seconds
    try:
        answer, content = _exchange(target, body, until)
    except (CallError, OSError, http.client.HTTPException) as error:
        raise CallError(f'failed: Post "{target.url}?timeout=30s": {_go_error(error, target)}') from error
    if answer.status // 100 != _SUCCESS:
        raise CallError(f"failed: {_refusal(answer, content)}")
    return content


def _exchange(target: Target, body: bytes, until: float) -> tuple[http.client.HTTPResponse, bytes]:
    if target.problem:
        raise CallError(target.problem)
    at = target.url.partition("://")[2]
    head = {"Host": at.partition("/")[0], "Content-Type": "application/json", "Accept": "application/json"}
    with (
        socket.create_connection((target.host, target.port), _left(until)) as plain,
        _context(target.authorities).wrap_socket(plain, server_hostname=target.name) as secure,
    ):
        _check_name(secure, target.name)
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.sock = secure
        connection.request("POST", f"/{at.partition('/')[2]}?timeout=30s", body, head)
        secure.settimeout(_left(until))
        answer, content = connection.getresponse(), b""
        while not answer.isclosed():
            secure.settimeout(_left(until))
            content += answer.read(_BLOCK)
    return answer, content


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@lru_cache(maxsize=32)
def _context(authorities: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the given authorities, or the machine's own if there are none."""
    context = ssl.create_default_context(cadata=authorities or None)
    context.check_hostname = False  # _check_name does this, because its error lists the valid names
    return context


def _check_name(secure: ssl.SSLSocket, wanted: str) -> None:
    certificate: Mapping[str, Any] = secure.getpeercert() or {}
    names = certificate.get("subjectAltName") or ()
    kind = "IP Address" if _is_address(wanted) else "DNS"
    valid = [name for what, name in names if what == kind]
    if any(_matches(name, wanted) for name in valid):
        return
    if not valid:
        raise _certificate_error(f"certificate is not valid for any names, but wanted to match {wanted}")
    raise _certificate_error(f"certificate is valid for {', '.join(valid)}, not {wanted}")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _matches(name: str, wanted: str) -> bool:
    if name.startswith("*."):
        return wanted.partition(".")[2].lower() == name[2:].lower()
    return name.lower() == wanted.lower()


def _certificate_error(text: str) -> CallError:
    return CallError(f"tls: failed to verify certificate: x509: {text}")


def _go_error(error: Exception, target: Target) -> str:
    text = str(error)
    match error:
        case ssl.SSLCertVerificationError():
            text = str(_certificate_error(_untrusted(error.verify_code)))
        case ssl.SSLError(reason="WRONG_VERSION_NUMBER" | "HTTP_REQUEST"):
            text = "http: server gave HTTP response to HTTPS client"
        case ssl.SSLEOFError() | ssl.SSLZeroReturnError() | http.client.RemoteDisconnected():
            text = "EOF"
        case http.client.IncompleteRead():
            text = "unexpected EOF"
        case ConnectionRefusedError():
            text = f"dial tcp {target.host}:{target.port}: connect: connection refused"
        case ConnectionResetError() | BrokenPipeError():
            text = f"read tcp {target.host}:{target.port}: read: connection reset by peer"
        case socket.gaierror():
            text = f"dial tcp: lookup {target.host}: no such host"
        case TimeoutError():
            text = "context deadline exceeded"
    return text


def _untrusted(code: int) -> str:
    if code in (_EXPIRED, _NOT_YET):
        return "certificate has expired or is not yet valid"
    return "certificate signed by unknown authority"


def _refusal(answer: http.client.HTTPResponse, content: bytes) -> str:
    """Return why a response is a failure: its Status message, or the meaning of its HTTP code."""
    try:
        status = json.loads(content)
        if (status["kind"], status["apiVersion"]) == ("Status", "v1") and status.get("message"):
            return str(status["message"])
    except (ValueError, TypeError, KeyError):
        pass
    is_text = answer.headers.get("Content-Type", "text/plain").startswith("text/")
    told = content[:_MOST_OF_A_TEXT].decode(errors="replace").strip() if is_text else "unknown"
    if answer.status in _IN_ITS_WORDS:
        return told
    if answer.status in _TOLD:
        return _TOLD[answer.status]
    if answer.status >= http.client.INTERNAL_SERVER_ERROR:
        return f"an error on the server ({json.dumps(told)}) has prevented the request from succeeding"
    return f"the server responded with the status code {answer.status} but did not return more information"


def authorities_of(client: Mapping[str, Any]) -> str:
    """Return the caBundle of a clientConfig as PEM text, or "" if it is missing or blank."""
    return base64.b64decode(client.get("caBundle") or "").decode(errors="replace").strip()
