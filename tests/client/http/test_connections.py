from __future__ import annotations

import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from urllib3 import HTTPHeaderDict

from handloop.client.auth.tls import TLSContexts, TLSOptions
from handloop.client.http.connection import Route, arm, exchange
from handloop.client.http.connections import Connections, Lent
from handloop.workqueue.spawn import spawn_thread
from support.certificates import CertificateAuthority
from support.wire_server import Peer, WireServer, always, response


def connections_to(server: WireServer, contexts: TLSContexts | None = None) -> Connections:
    return Connections(
        Route(urlsplit(server.url), None, "", spawn_thread, lambda _host, _seconds: None), contexts
    )


def use(lent: Lent) -> Lent:
    """Send a request and read its answer to the end."""
    arm(lent.connection.sock, deadline=time.monotonic() + 10)
    answer = exchange(lent.connection, "GET", "/", HTTPHeaderDict(), None)
    while answer.read_block():
        pass
    answer.close()
    return lent


def connect(connections: Connections) -> Lent:
    return connections.connect(None, time.monotonic() + 10)


def test_a_connection_is_used_again() -> None:
    """Keep-alive: what comes back is lent to the next request."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        assert connections.take_idle(None) is None
        first = use(connect(connections))
        assert not first.reused
        connections.give_back(first)
        again = connections.take_idle(None)
        assert again is not None
        assert (again.connection is first.connection, again.reused) == (True, True)
        use(again)
        again.connection.close()
        assert server.connections == 1


def test_the_warmest_connection_is_lent_first() -> None:
    """Connections that are not needed stay at the bottom and expire."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        lents = [use(connect(connections)) for _ in range(3)]
        for lent in lents:
            connections.give_back(lent)
        taken = connections.take_idle(None)
        assert taken is not None
        assert taken.connection is lents[2].connection
        taken.connection.close()
        connections.close()


def test_a_connection_that_the_server_closed_is_not_lent() -> None:
    """T42: a FIN that has arrived is seen before the connection is used."""

    def script(peer: Peer) -> None:
        peer.receive()
        peer.send(response())
        peer.finish()
        peer.wait_for_hangup()

    with WireServer(script) as server:
        connections = connections_to(server)
        lent = use(connect(connections))
        # the FIN follows the answer at once; wait until it is here
        assert lent.connection.sock.recv(1) == b""
        connections.give_back(lent)
        assert connections.take_idle(None) is None
        assert lent.connection.is_closed


def test_an_idle_connection_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was idle for as long as servers keep them is closed, not used."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        old, new = use(connect(connections)), use(connect(connections))
        connections.give_back(old)
        now = time.monotonic()
        monkeypatch.setattr("handloop.client.http.connections.time.monotonic", lambda: now + 100)
        connections.give_back(new)
        assert old.connection.is_closed
        monkeypatch.setattr("handloop.client.http.connections.time.monotonic", lambda: now + 250)
        assert connections.take_idle(None) is None
        assert new.connection.is_closed


def test_no_more_than_a_few_are_kept() -> None:
    """A burst of requests does not leave a burst of connections."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        lents = [connect(connections) for _ in range(40)]
        for lent in lents:
            connections.give_back(lent)
        assert sum(not lent.connection.is_closed for lent in lents) == 32
        connections.close()
        assert all(lent.connection.is_closed for lent in lents)


def test_nothing_is_kept_after_close() -> None:
    """A connection that comes back late is closed."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        lent = use(connect(connections))
        connections.close()
        connections.give_back(lent)
        assert lent.connection.is_closed


def test_rotated_certificates_end_old_connections(tmp_path: Path) -> None:
    """T18: after a rotation the next request makes a new connection with the new files."""
    authority = CertificateAuthority(tmp_path / "ca")
    ca_file = tmp_path / "ca.crt"
    shutil.copy(authority.certificate, ca_file)
    contexts = TLSContexts(TLSOptions(ca_file=str(ca_file)))
    with WireServer(always(response()), tls=authority.issue("s").server_context()) as server:
        connections = connections_to(server, contexts)
        lent = use(connect(connections))
        connections.give_back(lent)
        ca_file.write_bytes(authority.certificate.read_bytes() + b"\n")
        assert connections.take_idle(None) is None
        fresh = use(connect(connections))
        assert fresh.generation == lent.generation + 1
        fresh.connection.close()


def test_a_connection_that_fails_is_closed() -> None:
    """Nothing stays open when the server refuses."""
    with WireServer(always(response())) as server:
        connections = connections_to(server)
        server.stop_listening()
        with pytest.raises(ConnectionRefusedError):
            connect(connections)
