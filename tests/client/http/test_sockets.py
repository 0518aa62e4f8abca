from __future__ import annotations

import socket
import ssl
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from handloop.client.http.sockets import (
    Address,
    DeadlineSocket,
    DeadlineSSLSocket,
    connect,
    resolve,
    with_deadline,
)
from support.checks.threads import DEADLINE_SECONDS
from support.servers.certificates import CertificateAuthority
from support.servers.wire_server import Peer, WireServer, answering, response, silent_after


def connected(server: WireServer) -> DeadlineSocket:
    return with_deadline(socket.create_connection(("127.0.0.1", server.port), 10))


def drip(peer: Peer) -> None:
    """A byte now and then, for ever: each receive alone is quick."""
    peer.receive()
    try:
        while True:
            peer.send(b"x")
            peer._sock.settimeout(0.02)
            try:
                if not peer._sock.recv(1):
                    return
            except TimeoutError:
                continue
    except OSError:
        return


def test_a_deadline_ends_a_drip() -> None:
    """Bytes that keep coming do not move the deadline."""
    with WireServer(drip) as server, connected(server) as sock:
        sock.arm(deadline=time.monotonic() + 10)
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        buffer = bytearray(1)
        assert [sock.recv_into(buffer) for _ in range(3)] == [1, 1, 1]
        over_at = time.monotonic() + 0.3
        sock.arm(deadline=over_at)
        with pytest.raises(TimeoutError):  # noqa: PT012 - the receive that is too late is one of many
            while time.monotonic() < over_at + DEADLINE_SECONDS:
                sock.recv_into(buffer)


def test_silence_ends_at_the_idle_limit() -> None:
    """Without a deadline only silence counts."""
    with WireServer(silent_after(b"x")) as server, connected(server) as sock:
        sock.arm(deadline=None, idle_seconds=10)
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert sock.recv_into(bytearray(1)) == 1
        sock.arm(deadline=None, idle_seconds=0.05)
        with pytest.raises(TimeoutError):
            sock.recv_into(bytearray(1))


def test_the_sooner_of_both_holds() -> None:
    """A deadline further away does not lengthen the idle limit, and the other way round."""
    with DeadlineSocket() as sock:
        now = time.monotonic()
        sock.arm(deadline=now + 100, idle_seconds=5)
        assert sock.left() == 5
        sock.arm(deadline=now + 1, idle_seconds=5)
        left = sock.left()
        assert left is not None
        assert 0 < left <= 1
        sock.arm(deadline=None)
        assert sock.left() is None
        sock.arm(deadline=now - 1)
        with pytest.raises(TimeoutError):
            sock.left()
        with pytest.raises(TimeoutError):
            sock.sendall(b"late")


def test_taking_over_keeps_timeout_and_detaches() -> None:
    """The plain socket no longer owns the connection."""
    plain = socket.socket()
    plain.settimeout(3)
    with with_deadline(plain) as sock:
        assert plain.fileno() == -1
        assert sock.gettimeout() == 3


def test_tls_has_the_same_deadline(tmp_path: Path) -> None:
    """Beneath TLS too, receives and sends stop at the deadline."""
    authority = CertificateAuthority(tmp_path)
    issued = authority.issue("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.certificate)
    context.sslsocket_class = DeadlineSSLSocket
    with WireServer(silent_after(b"x"), tls=issued.server_context()) as server:
        plain = socket.create_connection(("127.0.0.1", server.port), 10)
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
            assert isinstance(sock, DeadlineSSLSocket)
            sock.arm(deadline=time.monotonic() + 10)
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert sock.recv_into(bytearray(1)) == 1
            sock.arm(deadline=time.monotonic() + 10, idle_seconds=0.05)
            with pytest.raises(TimeoutError):
                sock.recv_into(bytearray(1))
            sock.arm(deadline=time.monotonic() - 1)
            with pytest.raises(TimeoutError):
                sock.sendall(b"late")


def soon() -> float:
    return time.monotonic() + 10


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_a_literal_address_needs_no_resolver(host: str, family: int) -> None:
    """No thread is started for an address."""

    def refuse(name: str, target: object) -> Any:
        raise AssertionError(f"started {name}")

    (address,) = resolve(host, 6443, deadline=soon(), spawn=refuse)
    assert address.family == family
    assert address.socket_address[:2] == (host, 6443)


def test_every_connection_resolves_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of address is seen at the next connection; nothing is cached."""
    answers = iter(["127.0.0.1", "127.0.0.2"])
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("flags"):
            return real(host, *args, **kwargs)
        return real(next(answers), *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    found = [resolve("k8s.example", 443, deadline=soon())[0].socket_address[0] for _ in range(2)]
    assert found == ["127.0.0.1", "127.0.0.2"]


def test_a_name_that_cannot_be_one() -> None:
    """A label that is too long is an unknown name, not a UnicodeError."""
    with pytest.raises(socket.gaierror):
        resolve("a" * 70 + ".example", 443, deadline=soon())


def test_connects_to_the_first_address_that_answers() -> None:
    """An address that refuses is passed over."""
    with WireServer(answering(response())) as server:
        free = socket.create_server(("127.0.0.1", 0))
        closed = free.getsockname()[1]
        free.close()
        addresses = resolve("127.0.0.1", closed, deadline=soon()) + resolve(
            "127.0.0.1", server.port, deadline=soon()
        )
        with connect(addresses, deadline=soon()) as sock:
            assert sock.getpeername()[1] == server.port
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            # probes find a dead peer of an idle connection
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_refused_everywhere_is_the_last_error() -> None:
    """When no address answers, the reason of the last one is raised, and nothing stays open."""
    free = socket.create_server(("127.0.0.1", 0))
    closed = free.getsockname()[1]
    free.close()
    with pytest.raises(ConnectionRefusedError):
        connect(resolve("127.0.0.1", closed, deadline=soon()), deadline=soon())
    with pytest.raises(OSError, match="no address"):
        connect([], deadline=soon())


def test_an_address_that_drops_packets_leaves_time_for_the_next() -> None:
    """As the address of a dead replica, or IPv6 without a route: each has its share of the time."""
    with ExitStack() as stack, WireServer(answering(response())) as server:
        dropping = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # a full queue drops all further connections
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(dropping.getsockname())
        silent, answers = (
            Address(socket.AF_INET, ("127.0.0.1", port)) for port in (dropping.getsockname()[1], server.port)
        )
        deadline = time.monotonic() + 6
        with connect([silent, answers], deadline=deadline) as sock:
            assert sock.getpeername()[1] == server.port
            timeout = sock.gettimeout()  # what follows has all of the time that is left, and no more
            assert timeout is not None
            assert deadline - time.monotonic() <= timeout <= 5


def test_a_deadline_that_has_passed() -> None:
    """Nothing is tried when there is no time left."""
    with pytest.raises(TimeoutError):
        connect(resolve("127.0.0.1", 1, deadline=soon()), deadline=time.monotonic() - 1)
