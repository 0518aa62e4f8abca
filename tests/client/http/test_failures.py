from __future__ import annotations

import errno
import http.client
import socket
import ssl
from pathlib import Path
from queue import SimpleQueue

import pytest

from handloop.client.errors import (
    BadAnswer,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    NameResolutionError,
    TLSError,
    TLSProblem,
    TransportError,
)
from handloop.client.http.certificate import Certificate
from handloop.client.http.failures import FAILURES, Attempt, explain, shown_certificate
from support.servers.certificates import CertificateAuthority
from support.servers.wire_server import Peer, WireServer


def attempt(*, sent: bool = True, proxy: str = "") -> Attempt:
    return Attempt(
        host="https://k8s.example:6443",
        request="GET /a",
        write=False,
        sent=sent,
        seconds=30,
        verified_name="k8s.example",
        proxy=proxy,
        probe=lambda: None,
    )


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (ConnectionRefusedError(), ConnectionRefused, "connection refused"),
        (ConnectionResetError(), ConnectionBroken, "connection reset"),
        (BrokenPipeError(), ConnectionBroken, "the server closed the connection"),
        (
            http.client.RemoteDisconnected("x"),
            ConnectionBroken,
            "the server closed the connection without a response",
        ),
        (ConnectionBroken("the answer was cut off"), ConnectionBroken, "the answer was cut off"),
        (TimeoutError("timed out"), DeadlineExceeded, "no complete response in 30 s"),
        (
            socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            NameResolutionError,
            "no address for k8s.example (name or service not known)",
        ),
        (http.client.BadStatusLine("garbage\n"), BadAnswer, "not a valid HTTP response: garbage\\n"),
        (
            http.client.LineTooLong("header line"),
            BadAnswer,
            "not a valid HTTP response: got more than 65536 bytes",
        ),
        (BadAnswer("not a valid HTTP response: x"), BadAnswer, "not a valid HTTP response: x"),
        (OSError(errno.EHOSTUNREACH, "x"), TransportError, "no route to host"),
        (OSError(errno.EMFILE, "x"), TransportError, "too many open files"),
        (OSError("odd"), TransportError, "odd"),
        (ssl.SSLEOFError(8, "EOF occurred"), ConnectionBroken, "the server closed the connection"),
        (ssl.SSLError(1, "[SSL: INTERNAL_ERROR] internal error"), TLSError, "TLS handshake failed"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or repr(value),
)
def test_each_failure_has_its_error(error: Exception, kind: type[TransportError], reason: str) -> None:
    """Every failure of a socket has a class, words, host and request."""
    assert isinstance(error, FAILURES)
    found = explain(error, attempt())
    assert type(found) is kind
    assert isinstance(found, TransportError)
    assert found.reason.startswith(reason)
    assert (found.host, found.request) == ("https://k8s.example:6443", "GET /a")
    assert not found.outcome_unknown


def test_a_proxy_whose_name_is_unknown_is_named() -> None:
    """It is the proxy's name that helps, and not the server's."""
    unknown = explain(socket.gaierror(-2, "Unknown"), attempt(sent=False, proxy="http://proxy:3128"))
    assert (type(unknown), unknown.reason) == (NameResolutionError, "no address for proxy (unknown)")


SHOWN = Certificate("kubernetes", ("a.example", "10.0.0.1"), "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")


def refused(code: int, message: str = "words of openssl") -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code = code
    error.verify_message = message
    return error


def alert(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


def explained(error: ssl.SSLError, shown: Certificate | None = SHOWN) -> tuple[TLSProblem, str]:
    found = of_handshake(error, shown)
    return found.problem, found.reason


def of_handshake(error: ssl.SSLError, shown: Certificate | None) -> TLSError:
    found = explain(error, attempt(sent=False)._replace(verified_name="h", probe=lambda: shown))
    assert isinstance(found, TLSError)
    return found


@pytest.mark.parametrize(
    ("code", "problem", "reason"),
    [
        (
            10,
            TLSProblem.EXPIRED,
            'certificate for h expired on 2027-01-01T00:00:00Z (signed by "kubernetes")',
        ),
        (
            9,
            TLSProblem.NOT_YET_VALID,
            'certificate for h is not valid before 2026-01-01T00:00:00Z (signed by "kubernetes"); is this',
        ),
        (
            62,
            TLSProblem.HOSTNAME,
            'certificate is not for h but for a.example, 10.0.0.1 (signed by "kubernetes")',
        ),
        (64, TLSProblem.HOSTNAME, "certificate is not for h but for a.example, 10.0.0.1"),
        (
            20,
            TLSProblem.UNTRUSTED,
            'certificate for h not trusted (signed by "kubernetes"): words of openssl',
        ),
        (18, TLSProblem.UNTRUSTED, 'certificate for h not trusted (signed by "kubernetes")'),
    ],
)
def test_a_refused_certificate(code: int, problem: TLSProblem, reason: str) -> None:
    """The reason, the host, the names in the certificate and who signed it."""
    found, words = explained(refused(code))
    assert found is problem
    assert words.startswith(reason)


@pytest.mark.parametrize("code", [9, 10, 20, 62])
def test_a_certificate_that_could_not_be_had(code: int) -> None:
    """Without the certificate there is still a reason."""
    assert "h" in explained(refused(code), None)[1]


def test_the_facts_are_fields() -> None:
    """E05: what the command line prints is in the error."""
    found = of_handshake(refused(20), SHOWN)
    assert (found.issuer, found.names, found.not_after) == ("kubernetes", SHOWN.names, SHOWN.not_after)
    assert (found.host, found.request) == ("https://k8s.example:6443", "GET /a")
    assert not found.outcome_unknown


@pytest.mark.parametrize(
    ("reason", "problem", "words"),
    [
        (
            "TLSV13_ALERT_CERTIFICATE_REQUIRED",
            TLSProblem.CLIENT_CERTIFICATE,
            "did not accept our client certificate",
        ),
        ("TLSV1_ALERT_UNKNOWN_CA", TLSProblem.CLIENT_CERTIFICATE, "did not accept our client certificate"),
        (
            "SSLV3_ALERT_BAD_CERTIFICATE",
            TLSProblem.CLIENT_CERTIFICATE,
            "did not accept our client certificate",
        ),
        ("WRONG_VERSION_NUMBER", TLSProblem.HANDSHAKE, "does not speak TLS"),
        ("RECORD_LAYER_FAILURE", TLSProblem.HANDSHAKE, "does not speak TLS"),
        ("NO_SHARED_CIPHER", TLSProblem.HANDSHAKE, "no shared cipher"),
        ("", TLSProblem.HANDSHAKE, "connection closed"),
    ],
)
def test_a_failed_handshake(reason: str, problem: TLSProblem, words: str) -> None:
    """An alert from the server, or no TLS at all."""
    found, text = explained(alert(reason))
    assert found is problem
    assert words in text


def test_the_probe_sends_nothing(tmp_path: Path) -> None:
    """The certificate and its issuer are read without a request."""
    received: SimpleQueue[bytes] = SimpleQueue()

    def script(peer: Peer) -> None:
        received.put(peer._sock.recv(1))

    issued = CertificateAuthority(tmp_path, "somebody-else").issue("apiserver")
    context = issued.server_context()
    context.num_tickets = 0  # nothing is on its way to the client when it goes: no reset comes back
    with WireServer(script, tls=context) as server:
        shown = shown_certificate(socket.create_connection(("127.0.0.1", server.port), 10), "h")
        assert received.get(timeout=10) == b""
    assert shown is not None
    assert (shown.issuer, shown.names) == ("somebody-else", ("127.0.0.1", "localhost"))


def test_the_probe_of_a_server_without_tls() -> None:
    """The probe returns None for any peer without TLS."""

    def script(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.wait_for_hangup()

    with WireServer(script) as server:
        sock = socket.create_connection(("127.0.0.1", server.port), 10)
        assert shown_certificate(sock, "h") is None
