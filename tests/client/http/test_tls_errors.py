from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from handloop.client.errors import TLSProblem
from handloop.client.http.certificate import Certificate
from handloop.client.http.tls_errors import shown_certificate, tls_error
from support.certificates import CertificateAuthority
from support.wire_server import Peer, WireServer

SHOWN = Certificate(
    "apiserver", "kubernetes", ("a.example", "10.0.0.1"), "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"
)


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
    probe: Callable[[], Certificate | None] = lambda: shown  # noqa: E731
    found = tls_error(error, host="https://h:1", name="h", request="GET /a", probe=probe)
    return found.problem, found.reason


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
    """T17: the reason, the host, the names in the certificate and who signed it."""
    found, words = explained(refused(code))
    assert found is problem
    assert words.startswith(reason)


@pytest.mark.parametrize("code", [9, 10, 20, 62])
def test_a_certificate_that_could_not_be_had(code: int) -> None:
    """T17: without the certificate there is still a reason."""
    assert "h" in explained(refused(code), None)[1]


def test_the_facts_are_fields() -> None:
    """E05: what the command line prints is in the error."""
    found = tls_error(refused(20), host="https://h:1", name="h", request="GET /a", probe=lambda: SHOWN)
    assert (found.issuer, found.names, found.not_after) == ("kubernetes", SHOWN.names, SHOWN.not_after)
    assert (found.host, found.request, found.outcome_unknown) == ("https://h:1", "GET /a", False)


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
    """T17: an alert from the server, or no TLS at all."""
    found, text = explained(alert(reason))
    assert found is problem
    assert words in text


def test_the_probe_sends_nothing(tmp_path: Path) -> None:
    """T17: the certificate is looked at without a request, and whoever signed it."""
    received: list[bytes] = []

    def script(peer: Peer) -> None:
        received.append(peer._sock.recv(1))

    issued = CertificateAuthority(tmp_path, "somebody-else").issue("apiserver")
    with WireServer(script, tls=issued.server_context()) as server:
        shown = shown_certificate(socket.create_connection(("127.0.0.1", server.port), 10), "h")
    assert shown is not None
    assert (shown.issuer, shown.subject) == ("somebody-else", "apiserver")
    assert received == [b""]


def test_the_probe_of_a_server_without_tls() -> None:
    """Whatever is there, the probe says None."""

    def script(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.wait_for_hangup()

    with WireServer(script) as server:
        sock = socket.create_connection(("127.0.0.1", server.port), 10)
        assert shown_certificate(sock, "h") is None
