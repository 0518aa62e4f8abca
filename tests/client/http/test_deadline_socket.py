from __future__ import annotations

import socket
import ssl
import time
from pathlib import Path

import pytest

from handloop.client.http.deadline_socket import DeadlineSocket, DeadlineSSLSocket, with_deadline
from support.certificates import CertificateAuthority
from support.wire_server import Peer, WireServer, silent_after


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
    """T09: bytes that keep coming do not move the deadline."""
    with WireServer(drip) as server, connected(server) as sock:
        begun = time.monotonic()
        sock.arm(deadline=begun + 10)
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        buffer = bytearray(1)
        received = sock.recv_into(buffer)
        begun = time.monotonic()
        sock.arm(deadline=begun + 0.5)
        with pytest.raises(TimeoutError):  # noqa: PT012 - the receive that is too late is one of many
            while True:
                received += sock.recv_into(buffer)
        assert received > 1
        assert time.monotonic() - begun < 5


def test_silence_ends_at_the_idle_limit() -> None:
    """T07: without a deadline only silence counts."""
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
    """T09: beneath TLS too, receives and sends stop at the deadline."""
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


def test_files_have_a_buffer_for_many_messages() -> None:
    """A file on the socket reads 64 kB at once unless told otherwise."""
    with DeadlineSocket() as sock, sock.makefile("rb") as file:
        assert file.raw is not None
