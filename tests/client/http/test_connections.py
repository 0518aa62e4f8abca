from __future__ import annotations

import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from handloop.client.auth.tls import TLSContexts, TLSOptions, build_context
from handloop.client.http.connections import (
    Connection,
    Connections,
    Route,
    open_connection,
)
from handloop.client.http.exchange import Answer, exchange
from handloop.client.http.sockets import arm
from handloop.client.request_reports import NO_METRICS
from handloop.seams.threads import spawn_thread
from support.servers.certificates import CertificateAuthority
from support.servers.wire_server import (
    Peer,
    Script,
    WireServer,
    always,
    answering,
    closing_after,
    response,
)

BODY = b'{"items":[' + b"1," * 500 + b"2]}"


def route_to(server: str, proxy: str = "", tls_server_name: str = "") -> Route:
    return Route(
        urlsplit(server),
        urlsplit(proxy) if proxy else None,
        tls_server_name,
        spawn_thread,
        NO_METRICS.dns_resolution_duration,
    )


def ask(
    server: str, *, proxy: str = "", context: object = None, tls_server_name: str = ""
) -> tuple[Connection, Answer]:
    """Connect and send a GET; the head of the answer has been read."""
    route = route_to(server, proxy, tls_server_name)
    deadline = time.monotonic() + 10
    connection = open_connection(route, context, deadline)
    arm(connection.sock, deadline=deadline)
    headers = [*route.headers().items()]
    try:
        return connection, exchange(connection, "GET", route.target("/path"), headers, None)
    except BaseException:
        connection.close()
        raise


def tunnel_to(port: int, received: list[bytes]) -> Script:
    """A proxy that connects every client to port, for any host."""

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
    """CONNECT names the server, TLS is with the server, and the proxy sees nothing of it."""
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
        connection.close()
        assert received == [b"k8s.example:6443"]
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"
        assert "proxy-authorization" not in server.requests[0].headers


def test_https_goes_through_a_proxy_that_speaks_tls_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy's certificate is checked with the system's trust store, the server's with its CA."""
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
        connection.close()
        assert proxy.requests[0].target == "k8s.example:6443"


def test_a_handshake_ends_at_the_deadline_after_a_slow_proxy() -> None:
    """The time that the tunnel took is not given to the handshake again."""
    spare: list[float] = []

    class Context:
        def wrap_socket(self, sock: socket.socket, **_: object) -> None:
            timeout = sock.gettimeout()
            assert timeout is not None
            spare.append(timeout - (deadline - time.monotonic()))
            raise OSError("no handshake")

    def slow(peer: Peer) -> None:
        peer.receive()
        time.sleep(0.5)
        peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        peer.wait_for_hangup()

    with WireServer(slow) as proxy:
        deadline = time.monotonic() + 10
        with pytest.raises(OSError, match="no handshake"):
            open_connection(route_to("https://k8s.example", proxy.url), Context(), deadline)
    assert spare[0] < 0.4


def test_http_goes_through_a_proxy_by_its_full_name() -> None:
    """A plain server behind a proxy is named in the request line, and the proxy gets its password."""
    with WireServer(answering(response(BODY))) as proxy:
        connection, answer = ask("http://k8s.example:8080", proxy=f"http://u:p@127.0.0.1:{proxy.port}")
        assert b"".join(iter(answer.read_block, b"")) == BODY
        connection.close()
        assert proxy.requests[0].target == "http://k8s.example:8080/path"
        assert proxy.requests[0].headers["host"] == "k8s.example:8080"
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic dTpw"


def test_http_goes_through_a_proxy_that_speaks_tls_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request, with its token and the proxy's password, is not sent to the proxy in plain text."""
    authority = CertificateAuthority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    with WireServer(answering(response(BODY)), tls=authority.issue("proxy").server_context()) as proxy:
        connection, answer = ask("http://k8s.example", proxy=f"https://u:p@127.0.0.1:{proxy.port}")
        assert b"".join(iter(answer.read_block, b"")) == BODY
        connection.close()
        assert proxy.requests[0].target == "http://k8s.example/path"
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic dTpw"


def test_the_zone_of_an_address_is_decoded() -> None:
    """A URL has it as %25, and the Host header has none. Nobody has this address, so nothing answers."""
    route = route_to("http://[fe80::1%25lo]:1")
    with pytest.raises(OSError) as caught:
        open_connection(route, None, time.monotonic() + 5)
    assert not isinstance(caught.value, socket.gaierror)
    assert route.host_header == "[fe80::1]:1"


def test_tls_server_name_is_what_is_verified_and_asked_for(tmp_path: Path) -> None:
    """The kubeconfig's tls-server-name replaces the host in the handshake and the check."""
    authority = CertificateAuthority(tmp_path)
    issued = authority.issue("server", "DNS:inside.example")
    asked: list[str | None] = []
    server_context = issued.server_context()
    server_context.sni_callback = lambda _sock, name, _context: asked.append(name)
    with WireServer(answering(response(BODY)), tls=server_context) as server:
        connection, _ = ask(
            server.url,
            context=build_context(TLSOptions(ca_file=str(authority.certificate))),
            tls_server_name="inside.example",
        )
        connection.close()
    assert asked == ["inside.example"]


def connections_to(server: WireServer, contexts: TLSContexts | None = None) -> Connections:
    return Connections(route_to(server.url), contexts)


def use(connection: Connection) -> Connection:
    """Send a request and read its answer to the end."""
    arm(connection.sock, deadline=time.monotonic() + 10)
    answer = exchange(connection, "GET", "/", [], None)
    while answer.read_block():
        pass
    return connection


def connect(connections: Connections) -> Connection:
    return connections.connect(None, time.monotonic() + 10)


def test_the_warmest_connection_is_lent_first() -> None:
    """Connections that are not needed stay at the bottom and expire."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        lent_connections = [use(connect(connections)) for _ in range(3)]
        for connection in lent_connections:
            connections.give_back(connection)
        taken = connections.take_idle(None)
        assert taken is not None
        assert taken is lent_connections[2]
        taken.close()
        connections.close()


def test_a_connection_that_the_server_closed_is_not_lent() -> None:
    """A FIN that has arrived is seen before the connection is used."""
    with WireServer(closing_after(response())) as server:
        connections = connections_to(server)
        connection = use(connect(connections))
        # the FIN follows the answer at once; wait until it is here
        assert connection.sock.recv(1) == b""
        connections.give_back(connection)
        assert connections.take_idle(None) is None


def test_an_idle_connection_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was idle for as long as servers keep them is closed, not used."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        old, new = use(connect(connections)), use(connect(connections))
        connections.give_back(old)
        now = time.monotonic()
        monkeypatch.setattr("handloop.client.http.connections.time.monotonic", lambda: now + 100)
        connections.give_back(new)
        server.wait_for_open(1)
        monkeypatch.setattr("handloop.client.http.connections.time.monotonic", lambda: now + 250)
        assert connections.take_idle(None) is None
        server.wait_for_open(0)


def test_no_more_than_a_few_are_kept() -> None:
    """A burst of requests does not leave a burst of connections."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        lent_connections = [connect(connections) for _ in range(40)]
        for connection in lent_connections:
            connections.give_back(connection)
        server.wait_for_open(32)
        connections.close()
        server.wait_for_open(0)


def test_nothing_is_kept_after_close() -> None:
    """A connection that comes back late is closed."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        connection = use(connect(connections))
        connections.close()
        connections.give_back(connection)
        server.wait_for_open(0)
