from __future__ import annotations

import threading
from pathlib import Path

import pytest

from handloop.client.auth.tls import TLSOptions
from handloop.client.config import ClientConfig
from handloop.client.errors import BadAnswer, ConnectionBroken, DeadlineExceeded, StreamClosed
from handloop.client.http.http_stream import HTTPStream
from handloop.client.transport import HTTPTransport
from support.certificates import CertificateAuthority
from support.threads import Background
from support.wire_server import (
    CHUNKED_HEAD,
    LAST_CHUNK,
    Peer,
    Script,
    WireServer,
    chunk,
    chunked,
    closing_after,
    response,
    silent_after,
)


def open_stream(server: WireServer, *, read_seconds: float = 10, tls: TLSOptions | None = None) -> HTTPStream:
    config = ClientConfig(host=server.url, tls=tls or TLSOptions())
    return HTTPTransport(config).stream("GET", "/watch", read_timeout_seconds=read_seconds)


Served = tuple[bool, TLSOptions, CertificateAuthority]


@pytest.fixture(params=["http", "https"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Served:
    authority = CertificateAuthority(tmp_path)
    return request.param == "https", TLSOptions(ca_file=str(authority.certificate)), authority


def serve(script: Script, served: Served) -> WireServer:
    secure, _, authority = served
    return WireServer(script, tls=authority.issue("s").server_context() if secure else None)


def test_reads_to_the_clean_end(served: Served) -> None:
    """Status and headers are there at once, blocks follow, b"" is the end, and stays the end."""
    with serve(closing_after(chunked([b"one\n", b"two\n"])), served) as server:
        stream = open_stream(server, tls=served[1])
        assert (stream.status, stream.headers["content-type"]) == (200, "application/json")
        assert b"".join(iter(stream.read_block, b"")) == b"one\ntwo\n"
        assert stream.read_block() == b""
        stream.close()


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_cut_is_raised(served: Served, reset: bool) -> None:
    """T04, T05: FIN between chunks, and RST, are ConnectionBroken and never a clean end."""
    seen = threading.Event()

    def script(peer: Peer) -> None:
        peer.receive()
        peer.send(CHUNKED_HEAD + chunk(b"one\n"))
        # an RST may overtake what the client has not read
        assert seen.wait(20)
        if reset:
            peer.reset()
        else:
            peer.finish()
            peer.wait_for_hangup()

    with serve(script, served) as server:
        stream = open_stream(server, tls=served[1])
        assert stream.read_block() == b"one\n"
        seen.set()
        with pytest.raises(ConnectionBroken) as caught:
            stream.read_block()
        assert caught.value.request == "GET /watch"
        with pytest.raises(StreamClosed):
            stream.read_block()


def test_silence_is_noticed(served: Served) -> None:
    """T07: a half-open connection ends at the read timeout."""
    with serve(silent_after(CHUNKED_HEAD + chunk(b"one\n")), served) as server:
        stream = open_stream(server, tls=served[1], read_seconds=0.1)
        assert stream.read_block() == b"one\n"
        with pytest.raises(DeadlineExceeded, match=r"no complete answer in 0.1 s"):
            stream.read_block()


def test_the_default_read_timeout_is_75_seconds() -> None:
    """T07: a half-open watch is noticed in at most 75 s."""
    with WireServer(silent_after(CHUNKED_HEAD)) as server:
        stream = HTTPTransport(ClientConfig(host=server.url)).stream("GET", "/watch")
        assert stream._answer.transport_socket.idle_seconds == 75.0
        assert stream._answer.transport_socket.deadline is None
        stream.close()


def test_close_wakes_a_blocked_reader(served: Served) -> None:
    """A reader that sits in a receive raises at once when another thread closes."""
    with serve(silent_after(CHUNKED_HEAD + chunk(b"one\n")), served) as server:
        stream = open_stream(server, tls=served[1])
        got_first = threading.Event()

        def read() -> str:
            assert stream.read_block() == b"one\n"
            got_first.set()
            with pytest.raises(StreamClosed):
                stream.read_block()
            return "closed"

        reader = Background(read)
        assert got_first.wait(20)
        stream.close()
        stream.close()
        assert reader.result() == "closed"
        assert stream._answer.isclosed()


def test_close_before_a_read(served: Served) -> None:
    """A stream that was closed says so, and has given its connection up."""
    with serve(silent_after(CHUNKED_HEAD), served) as server:
        stream = open_stream(server, tls=served[1])
        stream.close()
        with pytest.raises(StreamClosed):
            stream.read_block()
        assert stream._answer.isclosed()


def test_close_and_read_race() -> None:
    """Closing at any moment of a read leaves one outcome, no hang and no open connection."""
    with WireServer(silent_after(CHUNKED_HEAD + chunk(b"x\n"))) as server:
        for _ in range(200):
            stream = open_stream(server)
            gate = threading.Barrier(2)

            def read(stream: HTTPStream = stream, gate: threading.Barrier = gate) -> str:
                gate.wait(20)
                try:
                    while stream.read_block():
                        pass
                except StreamClosed:
                    return "closed"
                return "ended"

            reader = Background(read)
            gate.wait(20)
            stream.close()
            assert reader.result() == "closed"
            assert stream._answer.isclosed()


def test_an_interrupted_read_gives_the_connection_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt in a read leaves no open connection behind."""

    def interrupt(_answer: object) -> bytes:
        raise KeyboardInterrupt

    with WireServer(silent_after(CHUNKED_HEAD)) as server:
        stream = open_stream(server)
        monkeypatch.setattr("handloop.client.http.connection.Answer.read_block", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stream.read_block()
        assert stream._answer.isclosed()


def test_read_all_of_a_short_answer() -> None:
    """An error's body is read whole."""
    with WireServer(closing_after(response(b'{"kind":"Status"}', status=410))) as server:
        stream = open_stream(server)
        assert stream.status == 410
        assert stream.read_all() == b'{"kind":"Status"}'


def test_read_all_stops_at_its_limit() -> None:
    """T16: what should be short does not fill the memory; the error names the cap and the request."""
    part = chunk(b"x" * 65_536)
    long = closing_after(CHUNKED_HEAD + part * 70 + LAST_CHUNK)
    with WireServer(long) as server:
        with pytest.raises(BadAnswer) as caught:
            open_stream(server).read_all()
        assert str(caught.value) == f"GET {server.url}/watch: the answer is larger than the limit of 4 MiB"
