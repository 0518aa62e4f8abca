from __future__ import annotations

import gzip
import shutil
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handloop.client import transport
from handloop.client.auth.credentials import Fetched, FetchedCredentials, StaticCredentials, TokenFile
from handloop.client.auth.tls import KeyPair, TLSOptions
from handloop.client.config import ClientConfig
from handloop.client.errors import (
    BadAnswer,
    ClientError,
    ConfigError,
    ConfigProblem,
    ConnectionBroken,
    ConnectionRefused,
    CredentialsError,
    DeadlineExceeded,
    DecompressionBomb,
    ProxyError,
    TLSError,
    TLSProblem,
    TransportError,
)
from handloop.client.request_reports import set_verbosity
from handloop.client.transport import HTTPTransport
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.servers.certificates import CertificateAuthority
from support.servers.wire_server import (
    CHUNKED_HEAD,
    LAST_CHUNK,
    Peer,
    Script,
    WireServer,
    always,
    answering,
    chunk,
    chunked,
    closing_after,
    resetting_after,
    response,
    silent_after,
)


def transport_to(server: WireServer, **options: Any) -> HTTPTransport:
    return HTTPTransport(ClientConfig(host=server.url), **options)


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path / "ca")


def secure(server: WireServer, authority: CertificateAuthority, **fields: Any) -> ClientConfig:
    tls = fields.pop("tls", TLSOptions(ca_file=str(authority.certificate)))
    return ClientConfig(host=fields.pop("host", server.url), tls=tls, **fields)


def test_a_request_arrives_as_it_was_asked() -> None:
    """Method, path, encoded query, headers and body are on the wire, and no credentials that nobody gave."""
    with WireServer(always(response(b'{"a":1}', status=201, headers={"X-Answer": "y"}))) as server:
        transport = transport_to(server)
        answered = transport.request(
            "POST",
            "/apis/g%2F/v1/foos",
            query={"fieldSelector": "metadata.name=a b&c", "limit": "5"},
            headers={"X-Asked": "x"},
            body=b"body",
        )
        transport.close()
        assert (answered.status, answered.body, answered.headers["x-answer"]) == (201, b'{"a":1}', "y")
        (request,) = server.requests
        assert request.method == "POST"
        assert request.target == "/apis/g%2F/v1/foos?fieldSelector=metadata.name%3Da%20b%26c&limit=5"
        assert (request.headers["x-asked"], request.body) == ("x", b"body")
        assert request.headers["accept-encoding"] == "gzip"
        assert request.headers["host"] == f"127.0.0.1:{server.port}"
        assert "authorization" not in request.headers


def test_a_server_below_a_path() -> None:
    """A server URL may have a path, as behind some gateways."""
    with WireServer(always(response())) as server:
        transport = HTTPTransport(ClientConfig(host=f"{server.url}/k8s/clusters/c-1/"))
        transport.request("GET", "/version")
        transport.close()
        assert server.requests[0].target == "/k8s/clusters/c-1/version"
        assert transport.host == server.url


def test_an_ipv6_server() -> None:
    """An address in brackets is connected to and named in the Host header."""
    with WireServer(always(response()), host="::1") as server:
        transport = transport_to(server)
        assert transport.request("GET", "/").status == 200
        transport.close()
        assert server.requests[0].headers["host"] == f"[::1]:{server.port}"


def test_a_connection_that_the_server_ends_is_not_kept() -> None:
    """Connection: close is obeyed."""
    closing = response(headers={"Connection": "close"})
    with WireServer(closing_after(closing)) as server:
        transport = transport_to(server)
        for _ in range(3):
            assert transport.request("GET", "/").status == 200
        assert server.connections == 3


def test_threads_do_not_share_a_connection() -> None:
    """Requests at the same time have connections of their own, and each gets its own answer."""

    def echo(peer: Peer) -> None:
        while True:
            peer.send(response(peer.receive().target.encode()))

    with WireServer(echo) as server:
        transport = transport_to(server)

        def ask(worker: int) -> list[bytes]:
            return [transport.request("GET", f"/{worker}/{number}").body for number in range(50)]

        workers = [Background(lambda worker=worker: ask(worker)) for worker in range(4)]  # type: ignore[misc]
        for worker, background in enumerate(workers):
            assert background.result() == [f"/{worker}/{number}".encode() for number in range(50)]
        transport.close()
        assert server.connections <= 4


def test_connection_refused() -> None:
    """Nobody listens, so nothing was sent, and the host is named."""
    with WireServer(always(response())) as server:
        server.stop_listening()
        with pytest.raises(ConnectionRefused) as caught:
            transport_to(server).request("POST", "/a", body=b"x")
        assert caught.value.host == server.url
        assert not caught.value.outcome_unknown
        assert str(caught.value) == f"POST {server.url}/a: connection refused"


@pytest.mark.parametrize(
    "script",
    [
        resetting_after(b""),
        resetting_after(response(b"abc", length=100)),
        closing_after(b""),
        closing_after(b"HTTP/1.1 200 OK\r\nContent-"),
        closing_after(response(b"abc", length=100)),
        closing_after(CHUNKED_HEAD + chunk(b"abc")),
    ],
    ids=["RST", "RST in the body", "FIN", "FIN in the head", "FIN in the body", "FIN between chunks"],
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_lost_answer(script: Script, method: str) -> None:
    """An answer that breaks off is an error; a write's outcome is unknown, a read's is not."""
    with WireServer(script) as server:
        with pytest.raises(TransportError) as caught:
            transport_to(server).request(method, "/a", body=b"x" if method == "PUT" else None)
        assert type(caught.value) is ConnectionBroken
        assert caught.value.outcome_unknown is (method == "PUT")
        assert server.connections == 1


def refusing(answer: bytes) -> Script:
    """A server that answers without reading the body, ends its side, and closes a moment later, as Go's."""

    def script(peer: Peer) -> None:
        peer._sock.recv(1024)
        if answer:
            peer.send(answer)
        peer._sock.shutdown(socket.SHUT_WR)
        time.sleep(0.1)

    return script


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_an_answer_to_a_body_that_was_not_read(authority: CertificateAuthority, tls: bool) -> None:
    """A 413 to a huge body is read although the send fails, and its connection is not kept."""
    context = authority.issue("server").server_context() if tls else None
    refused, body = response(b"too large", status=413), b"x" * (32 << 20)
    with WireServer(refusing(refused), answering(response(b"ok")), tls=context) as server:
        connection = HTTPTransport(secure(server, authority))
        assert connection.request("POST", "/a", body=body)[::2] == (413, b"too large")
        assert connection.request("GET", "/a").status == 200
        assert server.connections == 2


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 ", response(b"ok")], ids=["none", "cut off", "success"])
def test_a_send_that_fails_without_a_refusal(answer: bytes) -> None:
    """A success that came before the whole body was sent is none."""
    with WireServer(refusing(answer)) as server:
        with pytest.raises(ConnectionBroken) as caught:
            transport_to(server).request("POST", "/a", body=b"x" * (32 << 20))
        assert caught.value.outcome_unknown


@pytest.mark.parametrize("limits", [{}, {"send_seconds": 5.0}])
def test_a_swallowed_write_ends_at_its_deadline(limits: Any) -> None:
    """No answer to a write is an unknown outcome after the deadline; the answer is late, not the request."""
    with WireServer(silent_after(b"")) as server:
        with pytest.raises(
            DeadlineExceeded, match=r"no complete response in 0.5 s \(outcome unknown\)"
        ) as caught:
            transport_to(server).request("PUT", "/a", body=b"x", timeout_seconds=0.5, **limits)
        assert caught.value.outcome_unknown
        server.wait_for_requests(1)


@pytest.mark.parametrize("limits", [{}, {"send_seconds": 5.0}])
def test_every_request_has_a_deadline_of_30_seconds(limits: Any) -> None:
    """So has one that has less time to leave: all of the deadline is for the answer."""
    with WireServer(always(response())) as server:
        transport = transport_to(server)
        transport.request("PUT", "/", body=b"x", **limits)
        connection = transport._connections.take_idle(None)
        assert connection is not None
        left = connection.sock.deadline - time.monotonic()
        assert 20 < left <= 30
        connection.close()


def dripping(data: bytes) -> Script:
    """Sends data over and over, a byte at a time, until the client goes."""

    def script(peer: Peer) -> None:
        peer.receive()
        while True:
            peer.send_bytewise(data)

    return script


@pytest.mark.parametrize(
    "script",
    [
        dripping(b"X"),
        dripping(b"HTTP/1.1 100 Continue\r\n\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\n\r\nx"),
    ],
    ids=["status line", "heads", "body"],
)
def test_a_dripping_server_does_not_outlast_the_deadline(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadline bounds the whole request, however often a byte arrives."""
    monkeypatch.setattr(transport, "BODY_LIMIT", 1 << 40)
    with WireServer(script) as server:
        with pytest.raises(TransportError) as caught:
            transport_to(server).request("GET", "/", timeout_seconds=0.3)
        assert isinstance(caught.value, DeadlineExceeded | BadAnswer)


@pytest.mark.parametrize(
    ("encoding", "disabled"),
    [("gzip", True), ("deflate", False), ("br", False), ("zstd", False), ("gzip, gzip", False)],
)
def test_an_encoding_that_was_not_asked_for_is_refused(encoding: str, disabled: bool) -> None:
    """Compressed bytes are not guessed at; with disable_compression none are asked for."""
    answer = response(b"\x1f\x8b", headers={"Content-Encoding": encoding})
    with WireServer(always(answer)) as server:
        transport = HTTPTransport(ClientConfig(host=server.url, disable_compression=disabled))
        with pytest.raises(BadAnswer, match=f"Content-Encoding '{encoding}'"):
            transport.request("GET", "/")
        assert server.requests[0].headers["accept-encoding"] == ("identity" if disabled else "gzip")


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_in_gzip_is_inflated(status: int) -> None:
    """Of any status; its headers say what there is now, and the connection is used again."""
    zipped = {"Content-Encoding": "GZIP", "Vary": "Accept-Encoding"}
    with WireServer(always(response(gzip.compress(b'{"a":1}'), status=status, headers=zipped))) as server:
        transport = transport_to(server)
        for answered in (transport.request("GET", "/"), transport.request("GET", "/")):
            assert (answered.status, answered.body) == (status, b'{"a":1}')
            assert set(answered.headers) == {"Content-Type", "Vary"}
        assert server.connections == 1
        refused = transport.stream("GET", "/")
        assert refused.read_all() == b'{"a":1}'
        transport.close()


def test_a_bomb_ends_its_request_with_one_error() -> None:
    """The next request has a new connection; what a bomb is, is the same in a watch."""
    bomb = gzip.compress(bytes(80 << 20))
    with WireServer(always(response(bomb, headers={"Content-Encoding": "gzip"}))) as server:
        transport = transport_to(server)
        with pytest.raises(DecompressionBomb) as caught:
            transport.request("GET", "/api/v1/pods")
        assert str(caught.value).startswith(f"GET {server.url}/api/v1/pods: refused a gzip bomb: ")
        stream = transport.stream("GET", "/watch")
        with pytest.raises(DecompressionBomb, match="refused a gzip bomb"):
            deque(iter(stream.read_block, b""), maxlen=0)
        assert server.connections == 2
        transport.close()


def test_an_answer_that_is_cut_inside_its_gzip_is_a_broken_connection() -> None:
    """Even if the message around it is whole; a read of an API client is repeated after that."""
    cut = response(gzip.compress(b"{}" * 100)[:-1], headers={"Content-Encoding": "gzip"})
    with WireServer(always(cut)) as server, pytest.raises(ConnectionBroken, match="inside its gzip"):
        transport_to(server).request("GET", "/")


def test_a_body_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body stops at the cap; the error names the cap, the request and its host."""
    monkeypatch.setattr(transport, "BODY_LIMIT", 2 << 20)
    part = chunk(b"x" * 65_536)
    with WireServer(closing_after(CHUNKED_HEAD + part * 40 + LAST_CHUNK)) as server:
        with pytest.raises(BadAnswer) as caught:
            transport_to(server).request("GET", "/api/v1/pods")
        words = "the response is larger than the limit of 2 MiB"
        assert str(caught.value) == f"GET {server.url}/api/v1/pods: {words}"
        with pytest.raises(BadAnswer, match=r"outcome unknown"):
            transport_to(server).request("POST", "/api/v1/pods", body=b"{}")
        monkeypatch.setattr(transport, "BODY_LIMIT", 4 << 20)
        assert len(transport_to(server).request("GET", "/").body) == 40 * 65_536


def test_the_limit_of_a_body_counts_what_gzip_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fills the memory is what was inflated."""
    monkeypatch.setattr(transport, "BODY_LIMIT", 2 << 20)
    zipped = response(gzip.compress(bytes(3 << 20)), headers={"Content-Encoding": "gzip"})
    with WireServer(always(zipped)) as server:
        with pytest.raises(BadAnswer, match="larger than the limit of 2 MiB"):
            transport_to(server).request("GET", "/")
        monkeypatch.setattr(transport, "BODY_LIMIT", 3 << 20)
        assert len(transport_to(server).request("GET", "/").body) == 3 << 20


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_refused(status: int) -> None:
    """The token is sent to one host only."""
    with WireServer(always(response())) as elsewhere:
        redirect = response(status=status, headers={"Location": f"{elsewhere.url}/steal?code=canary"})
        with WireServer(always(redirect)) as server:
            config = ClientConfig(host=server.url, credentials=StaticCredentials("Bearer canary"))
            with pytest.raises(BadAnswer, match=rf"redirect \({status}\) to {elsewhere.url} refused"):
                HTTPTransport(config).request("GET", "/")
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    "data", [b"garbage\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\r\n" * 3]
)
def test_what_is_not_http_is_a_bad_answer(data: bytes) -> None:
    """The error for any other listener is that it is no API server."""
    with WireServer(closing_after(data)) as server, pytest.raises(BadAnswer, match="a valid HTTP response"):
        transport_to(server).request("GET", "/")


def closed_while_idle(peer: Peer) -> None:
    """Answers one request; takes a second one and closes without an answer: the keep-alive race."""
    peer.receive()
    peer.send(response(b"first"))
    peer.receive()


def test_a_read_on_a_dead_connection_is_repeated_once() -> None:
    """The server closed as we sent; a GET goes out again on a new connection."""
    with WireServer(closed_while_idle, always(response(b"second"))) as server:
        transport = transport_to(server)
        assert transport.request("GET", "/").body == b"first"
        assert transport.request("GET", "/").body == b"second"
        transport.close()
        assert server.connections == 2


def test_a_write_on_a_dead_connection_is_not_repeated() -> None:
    """A write may have been taken before the connection closed, so its outcome is unknown."""
    with WireServer(closed_while_idle, always(response())) as server:
        transport = transport_to(server)
        transport.request("GET", "/")
        with pytest.raises(ConnectionBroken) as caught:
            transport.request("PUT", "/", body=b"x")
        assert caught.value.outcome_unknown
        assert server.connections == 1


def test_a_name_that_hangs_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver is bounded by the request's deadline."""
    release = threading.Event()

    def getaddrinfo(*args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("flags"):
            assert release.wait(20)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        with pytest.raises(DeadlineExceeded):
            HTTPTransport(ClientConfig(host="http://k8s.example")).request("GET", "/", timeout_seconds=0.1)
    finally:
        release.set()


@pytest.mark.parametrize(
    ("alt_names", "days", "problem", "words"),
    [
        ("IP:127.0.0.1", -1, TLSProblem.EXPIRED, "certificate for 127.0.0.1 expired on 20"),
        ("DNS:other.example", 1, TLSProblem.HOSTNAME, "is not for 127.0.0.1 but for other.example"),
        (
            "IP:127.0.0.1",
            1,
            TLSProblem.UNTRUSTED,
            'certificate for 127.0.0.1 not trusted (signed by "handloop-test-ca")',
        ),
    ],
    ids=["expired", "wrong name", "unknown CA"],
)
def test_a_certificate_that_is_not_accepted(
    tmp_path: Path, alt_names: str, days: int, problem: TLSProblem, words: str
) -> None:
    """The message names host, reason and issuer; no request and no credentials are ever sent."""
    authority = CertificateAuthority(tmp_path / "ca")
    issued = authority.issue("server", alt_names, days=days)
    known = problem is not TLSProblem.UNTRUSTED
    ca = authority if known else CertificateAuthority(tmp_path / "other", "another-ca")
    with WireServer(always(response()), tls=issued.server_context()) as server:
        config = secure(server, ca, credentials=StaticCredentials("Bearer canary"))
        with pytest.raises(TLSError) as caught:
            HTTPTransport(config).request("PUT", "/", body=b"x")
        assert caught.value.problem is problem
        assert words in caught.value.reason
        assert caught.value.issuer == "handloop-test-ca"
        assert not caught.value.outcome_unknown
        assert server.requests == []


def test_a_refused_certificate_without_the_package_that_reads_it(
    tmp_path: Path, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the cryptography package the message has OpenSSL's words, and neither names nor issuer."""
    other = CertificateAuthority(tmp_path / "other", "another-ca")
    with WireServer(always(response()), tls=authority.issue("server").server_context()) as server:
        monkeypatch.setitem(sys.modules, "cryptography", None)
        with pytest.raises(TLSError) as caught:
            HTTPTransport(secure(server, other)).request("GET", "/")
    openssl = "unable to get local issuer certificate"
    assert caught.value.reason == f"certificate for 127.0.0.1 not trusted: {openssl}"
    assert (caught.value.issuer, caught.value.names, caught.value.not_after) == ("", (), "")


def test_verification_is_skipped_only_on_request(authority: CertificateAuthority) -> None:
    """insecure-skip-tls-verify is honoured, with a warning."""
    issued = authority.issue("server", "DNS:other.example", days=-1)
    with WireServer(always(response()), tls=issued.server_context()) as server:
        with captured_logs() as entries:
            config = ClientConfig(host=server.url, tls=TLSOptions(insecure_skip_verify=True))
            transport = HTTPTransport(config)
        assert transport.request("GET", "/").status == 200
        transport.close()
        assert [entry["log_level"] for entry in entries] == ["warning"]


def test_without_tls_nothing_is_said_of_its_verification() -> None:
    """Over plain HTTP there is none that could be off."""
    config = ClientConfig(host="http://127.0.0.1:1", tls=TLSOptions(insecure_skip_verify=True))
    with captured_logs() as entries:
        HTTPTransport(config).close()
    assert entries == []


def test_https_to_a_plain_server() -> None:
    """The errors for a server without TLS and for a bad certificate differ."""

    def script(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.wait_for_hangup()

    with WireServer(script) as server:
        config = ClientConfig(host=server.url.replace("http:", "https:"))
        with pytest.raises(TLSError, match="does not speak TLS"):
            HTTPTransport(config).request("GET", "/")


def test_a_client_certificate_is_shown(authority: CertificateAuthority) -> None:
    """Mutual TLS works from files, and the error of a server that demands a certificate names that."""
    client = authority.issue("client")
    context = authority.issue("server").server_context(client_ca=authority.certificate)
    with WireServer(always(response()), tls=context) as server:
        pair = KeyPair(certificate_file=str(client.certificate), key_file=str(client.key))
        tls = TLSOptions(ca_file=str(authority.certificate), key_pair=pair)
        transport = HTTPTransport(secure(server, authority, tls=tls))
        assert transport.request("GET", "/").status == 200
        transport.close()
        with pytest.raises((TLSError, ConnectionBroken)):
            HTTPTransport(secure(server, authority)).request("GET", "/")


def test_a_rotated_client_certificate_is_used_at_the_next_connection(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    """New files are used without a restart, and the connection made with the old ones is given up."""
    seen: list[bytes | None] = []

    def script(peer: Peer) -> None:
        seen.append(peer._sock.getpeercert(binary_form=True))  # type: ignore[attr-defined]
        always(response())(peer)

    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    first, second = authority.issue("first"), authority.issue("second")
    shutil.copy(first.certificate, certificate)
    shutil.copy(first.key, key)
    context = authority.issue("server").server_context(client_ca=authority.certificate)
    with WireServer(script, tls=context) as server:
        pair = KeyPair(certificate_file=str(certificate), key_file=str(key))
        tls = TLSOptions(ca_file=str(authority.certificate), key_pair=pair)
        transport = HTTPTransport(secure(server, authority, tls=tls))
        transport.request("GET", "/")
        transport.request("GET", "/")
        shutil.copy(second.certificate, certificate)
        shutil.copy(second.key, key)
        transport.request("GET", "/")
        transport.close()
        assert len(seen) == 2
        assert seen[0] != seen[1]


UNAUTHORIZED = response(b'{"kind":"Status","reason":"Unauthorized"}', status=401)


def accepting(*tokens: str) -> Script:
    """A server that knows these tokens."""

    def script(peer: Peer) -> None:
        while True:
            authorization = peer.receive().headers.get("authorization", "")
            known = authorization.removeprefix("Bearer ") in tokens
            peer.send(response() if known else UNAUTHORIZED)

    return script


def test_a_rotated_token_is_read_again_after_a_401(tmp_path: Path) -> None:
    """A request, or the opening of a watch, is repeated once with the file's new token."""
    path = tmp_path / "token"
    path.write_text("old\n")
    with WireServer(accepting("new"), accepting("newer")) as server:
        clock = FakeClock()
        config = ClientConfig(host=server.url, credentials=TokenFile(str(path), clock=clock))
        transport = HTTPTransport(config, seams=Seams(clock=clock))
        assert transport.request("GET", "/").status == 401
        path.write_text("new\n")
        assert transport.request("PUT", "/", body=b"x").status == 200
        assert transport.request("GET", "/").status == 200
        sent = [request.headers["authorization"] for request in server.requests]
        assert sent == ["Bearer old", "Bearer old", "Bearer old", "Bearer new", "Bearer new"]
        transport.close()
        path.write_text("newer\n")
        stream = transport.stream("GET", "/watch")
        assert stream.status == 200
        stream.close()
        transport.close()


def test_a_401_is_repeated_at_most_once(tmp_path: Path) -> None:
    """Credentials that stay refused give the 401 after two tries."""
    path = tmp_path / "token"
    path.write_text("wrong")
    with WireServer(accepting("right")) as server:
        transport = HTTPTransport(ClientConfig(host=server.url, credentials=TokenFile(str(path))))
        assert transport.request("GET", "/").status == 401
        stream = transport.stream("GET", "/watch")
        assert (stream.status, stream.read_all()) == (401, b'{"kind":"Status","reason":"Unauthorized"}')
        transport.close()
        assert len(server.requests) == 4


def test_credentials_that_cannot_change_are_not_tried_again() -> None:
    """With a token from the kubeconfig a 401 is final."""
    with WireServer(accepting("right")) as server:
        config = ClientConfig(host=server.url, credentials=StaticCredentials("Bearer wrong"))
        transport = HTTPTransport(config)
        assert transport.request("GET", "/").status == 401
        transport.close()
        assert len(server.requests) == 1


class FailingCredentials:
    """Credentials that cannot be had."""

    def authorization(self, timeout_seconds: float = 60.0) -> str:
        raise ConfigError(ConfigProblem.EXEC_PLUGIN, 'exec plugin "p" not found in PATH', plugin="p")

    def key_pair(self, timeout_seconds: float = 60.0) -> KeyPair | None:
        return None

    def rejected(self, started_at: float) -> bool:
        return True


class FailingKeyPair(StaticCredentials):
    """Credentials whose key pair cannot be had."""

    def key_pair(self, timeout_seconds: float = 60.0) -> KeyPair | None:
        raise ConfigError(ConfigProblem.EXEC_PLUGIN, "no key pair")


@pytest.mark.parametrize("credentials", [FailingCredentials(), FailingKeyPair("Bearer x")])
def test_a_request_without_credentials_is_not_sent(credentials: Any) -> None:
    """E06: what the command line needs to explain is in the error; the server hears nothing."""
    with WireServer(always(response())) as server:
        transport = HTTPTransport(ClientConfig(host=server.url, credentials=credentials))
        for call in (lambda: transport.request("PUT", "/", body=b"x"), lambda: transport.stream("GET", "/")):
            with pytest.raises(CredentialsError) as caught:
                call()
            assert caught.value.problem.kind is ConfigProblem.EXEC_PLUGIN
            assert not caught.value.outcome_unknown
        assert server.requests == []


@pytest.mark.parametrize("limits", [{"timeout_seconds": 5.0}, {"send_seconds": 5.0}])
def test_a_program_that_hangs_holds_no_request_up_beyond_its_deadline(limits: Any) -> None:
    """What a request waits for before it is sent counts, too."""
    clock, release = FakeClock(), threading.Event()

    def fetch() -> Fetched:
        assert release.wait(20)
        return Fetched("Bearer late")

    with WireServer(always(response())) as server:
        credentials = FetchedCredentials("plugin", fetch, seams=Seams(clock=clock))
        transport = HTTPTransport(
            ClientConfig(host=server.url, credentials=credentials), seams=Seams(clock=clock)
        )
        asked = Background(lambda: transport.request("PUT", "/", body=b"x", **limits))
        clock.wait_for_waiters(1)
        clock.advance(5)
        with pytest.raises(CredentialsError, match=r"gave no credentials: no answer in \S+ s") as caught:
            asked.result()
        assert not caught.value.outcome_unknown
        release.set()
        assert server.requests == []


def test_a_connection_that_is_not_made_in_time_to_send() -> None:
    """Shaking hands belongs to the sending: a server that does not is given up then, and nothing was sent."""
    with WireServer(silent_after(b"")) as server:
        tls = TLSOptions(insecure_skip_verify=True)
        config = ClientConfig(host=server.url.replace("http:", "https:"), tls=tls)
        with captured_logs():
            transport = HTTPTransport(config)
        with pytest.raises(DeadlineExceeded, match=r"not completely sent in 0.3 s$") as caught:
            transport.request("PUT", "/", body=b"x", send_seconds=0.3)
        assert not caught.value.outcome_unknown


def test_impersonation_headers_may_repeat() -> None:
    """Every group is sent, in headers of the same name."""
    lines: list[bytes] = []

    def script(peer: Peer) -> None:
        lines.append(peer._sock.recv(65_536))
        peer.send(response())

    fields = (("Impersonate-User", "u"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    with WireServer(script) as server:
        transport = HTTPTransport(ClientConfig(host=server.url, impersonate=fields))
        transport.request("GET", "/")
        transport.close()
    assert lines[0].count(b"Impersonate-Group: ") == 2


def test_a_proxy_that_refuses_is_named() -> None:
    """CONNECT refused, and no proxy at all, name the proxy and not the server."""
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"
    with WireServer(closing_after(refusal)) as proxy:
        proxy_url = f"http://127.0.0.1:{proxy.port}"
        config = ClientConfig(host="https://k8s.example:6443", proxy_url=proxy_url)
        with pytest.raises(ProxyError, match=rf"proxy {proxy_url} refused: 407") as caught:
            HTTPTransport(config).request("PUT", "/", body=b"x")
        assert not caught.value.outcome_unknown
        proxy.stop_listening()
        with pytest.raises(ProxyError, match=f"proxy {proxy_url} refused the connection"):
            HTTPTransport(config).request("GET", "/")


@pytest.mark.parametrize("proxy", ["http://127.0.0.1", "http://[::1]", "http://[::1]:3128"])
def test_a_proxy_is_named_as_it_was_written(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a port, or with the brackets of its address, and without its password."""

    def refuse(*_: object, **__: object) -> socket.socket:
        raise ConnectionRefusedError

    monkeypatch.setattr("handloop.client.http.connections.connect", refuse)
    config = ClientConfig(host="https://k8s.example", proxy_url=proxy.replace("//", "//u:canary@"))
    with pytest.raises(ProxyError) as caught:
        HTTPTransport(config).request("GET", "/")
    assert caught.value.reason == f"proxy {proxy} refused the connection"


@pytest.fixture
def _headers_logged() -> Iterator[None]:
    set_verbosity(7)
    yield
    set_verbosity(0)


@pytest.mark.usefixtures("_headers_logged")
def test_no_token_in_logs_errors_or_reprs() -> None:
    """With headers logged, the token is nowhere but on the wire."""
    with WireServer(answering(response()), closing_after(b"")) as server:
        config = ClientConfig(host=server.url, credentials=StaticCredentials("Bearer canary-7d1"))
        transport = HTTPTransport(config)
        seen = [repr(config), repr(transport), repr(config.credentials)]
        with captured_logs() as entries:
            transport.request("GET", "/")
            transport.close()
            with pytest.raises(ClientError) as caught:
                transport.request("GET", "/")
        seen += [str(entry) for entry in entries] + [str(caught.value), repr(caught.value)]
        assert any("Bearer <masked>" in text for text in seen)
        assert "canary-7d1" not in "\n".join(seen)
        assert server.requests[0].headers["authorization"] == "Bearer canary-7d1"


def test_an_interrupt_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt in the middle of an answer leaves no half-read connection to reuse."""
    with WireServer(always(chunked([b"x"]))) as server:
        transport = transport_to(server)

        def interrupt(*args: Any, **kwargs: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr("handloop.client.http.exchange.Answer.read_block", interrupt)
            with pytest.raises(KeyboardInterrupt):
                transport.request("GET", "/")
        assert transport._connections.take_idle(None) is None
        with monkeypatch.context() as patched:
            patched.setattr("handloop.client.transport.exchange", interrupt)
            with pytest.raises(KeyboardInterrupt):
                transport.request("GET", "/")
        assert transport._connections.take_idle(None) is None
        assert transport.request("GET", "/").body == b"x"
        transport.close()
