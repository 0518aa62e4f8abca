from __future__ import annotations

import http.client
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from urllib3 import HTTPHeaderDict

from handloop.client.auth.tls import TLSOptions, build_context
from handloop.client.http.chunked import ChunkError
from handloop.client.http.connection import (
    Answer,
    Connection,
    Route,
    arm,
    exchange,
    new_connection,
    open_connection,
)
from handloop.workqueue.spawn import spawn_thread
from support.certificates import CertificateAuthority
from support.wire_server import (
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
)

BODY = b'{"items":[' + b"1," * 500 + b"2]}"


def route_to(server: str, proxy: str = "", tls_server_name: str = "") -> Route:
    return Route(
        urlsplit(server),
        urlsplit(proxy) if proxy else None,
        tls_server_name,
        spawn_thread,
        lambda _host, _seconds: None,
    )


def ask(
    server: str, *, proxy: str = "", context: object = None, tls_server_name: str = ""
) -> tuple[Connection, Answer]:
    """Connect and send a GET; the head of the answer has been read."""
    route = route_to(server, proxy, tls_server_name)
    connection = new_connection(route, context)
    deadline = time.monotonic() + 10
    open_connection(connection, route, deadline)
    arm(connection.sock, deadline=deadline)
    headers = HTTPHeaderDict(route.headers())
    return connection, exchange(connection, "GET", route.target("/path"), headers, None)


def test_a_request_whose_time_to_be_sent_is_over_stays_here() -> None:
    """The socket looks before the first byte leaves: who was suspended after arming it sends nothing late."""
    with WireServer(always(response())) as server:
        route = route_to(server.url, "", "")
        connection = new_connection(route, None)
        open_connection(connection, route, time.monotonic() + 10)
        connection.sock.deadline = time.monotonic() - 1  # type: ignore[union-attr]
        with pytest.raises(TimeoutError):
            exchange(connection, "PUT", "/", HTTPHeaderDict(), b"x", answer_deadline=time.monotonic() + 10)
        connection.close()
        assert server.requests == []


def read_from(script: Script) -> bytes:
    """The whole body that a script's answer gives."""
    with WireServer(script) as server:
        connection, answer = ask(server.url)
        try:
            return b"".join(iter(answer.read_block, b""))
        finally:
            answer.close()
            connection.close()


@pytest.mark.parametrize(
    "data",
    [
        response(BODY),
        chunked([BODY]),
        chunked([BODY[:10], BODY[10:11], BODY[11:]]),
        b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.1 100 Continue\r\n\r\n" + response(BODY),
    ],
    ids=["length", "one chunk", "chunks", "until close", "http 1.0", "after 100"],
)
def test_a_body_however_it_is_framed(data: bytes) -> None:
    """Length, chunks and the end of the connection all frame a body."""
    assert read_from(closing_after(data)) == BODY


def test_a_body_byte_by_byte() -> None:
    """How the network cuts the answer makes no difference."""

    def script(peer: Peer) -> None:
        peer.receive()
        peer.send_bytewise(chunked([b"hello ", b"world"]))
        peer.wait_for_hangup()

    assert read_from(script) == b"hello world"


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_a_body(status: int) -> None:
    """Some answers end with their head."""
    assert read_from(answering(f"HTTP/1.1 {status} X\r\n\r\n".encode())) == b""


CUT = CHUNKED_HEAD + chunk(b"one") + chunk(b"two")


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (closing_after(CUT), http.client.IncompleteRead),
        (closing_after(CUT + b"5\r\nab"), http.client.IncompleteRead),
        (closing_after(CUT + b"5"), http.client.IncompleteRead),
        (closing_after(CUT + b"0\r\n"), http.client.IncompleteRead),
        (closing_after(CHUNKED_HEAD), http.client.IncompleteRead),
        (closing_after(CUT + b"zz\r\n"), ChunkError),
        (closing_after(response(b"abc", length=10)), http.client.IncompleteRead),
        (resetting_after(CUT), ConnectionResetError),
        (resetting_after(response(b"abc", length=10)), ConnectionResetError),
    ],
    ids=[
        "FIN between chunks",
        "FIN inside a chunk",
        "FIN inside a size",
        "FIN before the last line",
        "FIN before any chunk",
        "garbage chunk size",
        "FIN before the length",
        "RST between chunks",
        "RST before the length",
    ],
)
def test_no_truncation_looks_like_an_end(script: Script, error: type[Exception]) -> None:
    """T05, T06: every row of the truncation table raises."""
    with pytest.raises(error):
        read_from(script)


def test_a_cut_at_every_byte_raises() -> None:
    """T04, T05: only the whole chunked answer ends cleanly."""
    data = CUT + LAST_CHUNK
    for length in range(len(CHUNKED_HEAD), len(data)):
        with pytest.raises(http.client.IncompleteRead):
            read_from(closing_after(data[:length]))
    assert read_from(closing_after(data)) == b"onetwo"


def test_blocks_come_as_they_arrive() -> None:
    """A watch event is handed on before the next one exists."""

    def script(peer: Peer) -> None:
        peer.receive()
        peer.send(CHUNKED_HEAD + chunk(b"first"))
        peer.receive()  # comes only after the client has seen the first
        peer.send(chunk(b"second") + LAST_CHUNK)
        peer.wait_for_hangup()

    with WireServer(script) as server:
        connection, answer = ask(server.url)
        assert answer.read_block() == b"first"
        answer.transport_socket.sendall(b"GET /go HTTP/1.1\r\n\r\n")
        assert [answer.read_block(), answer.read_block(), answer.read_block()] == [b"second", b"", b""]
        answer.close()
        connection.close()


def test_a_resolved_name_is_reported() -> None:
    """How long a name took can be measured."""
    seen: list[tuple[str, float]] = []
    with WireServer(answering(response())) as server:
        url = urlsplit(f"http://localhost:{server.port}")
        route = Route(url, None, "", spawn_thread, lambda host, seconds: seen.append((host, seconds)))
        connection = new_connection(route, None)
        open_connection(connection, route, time.monotonic() + 10)
        connection.close()
    assert [host for host, _ in seen] == ["localhost"]
    assert seen[0][1] >= 0


def test_connections_stay_alive_in_the_kernel() -> None:
    """Keep-alive probes find a dead peer that nobody talks to."""
    with WireServer(answering(response())) as server:
        connection, answer = ask(server.url)
        assert answer.transport_socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        answer.close()
        connection.close()


def tunnel_to(port: int, received: list[bytes]) -> Script:
    """A proxy that connects every client to port, whatever host it names."""

    def script(peer: Peer) -> None:
        received.append(f"{peer.receive().target}".encode())
        peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port), 10) as upstream:
            _relay(peer._sock, upstream)

    return script


def _relay(client: socket.socket, upstream: socket.socket) -> None:
    client.settimeout(0.01)
    upstream.settimeout(0.01)
    idle = 0
    while idle < 500:
        for source, target in ((client, upstream), (upstream, client)):
            try:
                data = source.recv(65_536)
            except TimeoutError:
                idle += 1
                continue
            if not data:
                return
            idle = 0
            target.sendall(data)


def test_https_goes_through_a_proxy_s_tunnel(tmp_path: Path) -> None:
    """T39: CONNECT names the server, TLS is with the server, and the proxy sees nothing of it."""
    authority = CertificateAuthority(tmp_path)
    issued = authority.issue("server", "DNS:k8s.example")
    received: list[bytes] = []
    with (
        WireServer(answering(response(BODY)), tls=issued.server_context()) as server,
        WireServer(tunnel_to(server.port, received)) as proxy,
    ):
        connection, answer = ask(
            "https://k8s.example:6443",
            proxy=f"http://user:p%40ss@127.0.0.1:{proxy.port}",
            context=build_context(TLSOptions(ca_file=str(authority.certificate))),
        )
        assert b"".join(iter(answer.read_block, b"")) == BODY
        answer.close()
        connection.close()
        assert received == [b"k8s.example:6443"]
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"
        assert "proxy-authorization" not in server.requests[0].headers


def test_https_goes_through_a_proxy_that_speaks_tls_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T39: the proxy's certificate is checked with the system's trust store, the server's with its CA."""
    authority, proxy_authority = (
        CertificateAuthority(tmp_path / "ca"),
        CertificateAuthority(tmp_path / "proxy"),
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy_authority.certificate))
    issued = authority.issue("server", "DNS:k8s.example")
    proxy_context = proxy_authority.issue("proxy").server_context()
    with (
        WireServer(answering(response(BODY)), tls=issued.server_context()) as server,
        WireServer(tunnel_to(server.port, []), tls=proxy_context) as proxy,
    ):
        connection, answer = ask(
            "https://k8s.example:6443",
            proxy=f"https://127.0.0.1:{proxy.port}",
            context=build_context(TLSOptions(ca_file=str(authority.certificate))),
        )
        assert b"".join(iter(answer.read_block, b"")) == BODY
        answer.close()
        connection.close()
        assert proxy.requests[0].target == "k8s.example:6443"


def test_http_goes_through_a_proxy_by_its_full_name() -> None:
    """T39: a plain server behind a proxy is named in the request line, and the proxy gets its password."""
    with WireServer(answering(response(BODY))) as proxy:
        connection, answer = ask("http://k8s.example:8080", proxy=f"http://u:p@127.0.0.1:{proxy.port}")
        assert b"".join(iter(answer.read_block, b"")) == BODY
        answer.close()
        connection.close()
        assert proxy.requests[0].target == "http://k8s.example:8080/path"
        assert proxy.requests[0].headers["host"] == "k8s.example:8080"
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic dTpw"


def test_tls_server_name_is_what_is_verified_and_asked_for(tmp_path: Path) -> None:
    """The kubeconfig's tls-server-name replaces the host in the handshake and the check."""
    authority = CertificateAuthority(tmp_path)
    issued = authority.issue("server", "DNS:inside.example")
    asked: list[str | None] = []
    server_context = issued.server_context()
    server_context.sni_callback = lambda _sock, name, _context: asked.append(name)
    with WireServer(answering(response(BODY)), tls=server_context) as server:
        connection, answer = ask(
            server.url,
            context=build_context(TLSOptions(ca_file=str(authority.certificate))),
            tls_server_name="inside.example",
        )
        answer.close()
        connection.close()
    assert asked == ["inside.example"]
