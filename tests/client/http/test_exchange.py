from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.client.auth.tls import TLSOptions
from handloop.client.config import ClientConfig
from handloop.client.errors import BadAnswer, ConnectionBroken, DeadlineExceeded, StreamClosed
from handloop.client.http.connections import Connection, Route, open_connection
from handloop.client.http.exchange import Answer, HTTPStream, exchange
from handloop.client.http.response import Headers
from handloop.client.http.sockets import arm
from handloop.client.request_reports import NO_METRICS
from handloop.client.transport import HTTPTransport
from handloop.seams.threads import spawn_thread
from support.checks.threads import Background
from support.servers.certificates import CertificateAuthority
from support.servers.wire_server import (
    CHUNKED_HEAD,
    LAST_CHUNK,
    Peer,
    Script,
    WireServer,
    always,
    chunk,
    chunked,
    closing_after,
    response,
    silent_after,
)

BODY = b'{"items":[' + b"1," * 500 + b"2]}"


class Pieces:
    """A socket that receives these pieces, then the end of the connection."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def recv_into(self, buffer: memoryview, _count: int) -> int:
        piece = self._pieces.pop(0) if self._pieces else b""
        buffer[: len(piece)] = piece
        return len(piece)


def answer_of(*pieces: bytes) -> Answer:
    answer = Answer(Pieces(*pieces))
    answer.read_head()
    return answer


def read_pieces(*pieces: bytes) -> bytes:
    """The body that chunked pieces give."""
    return b"".join(iter(answer_of(CHUNKED_HEAD, *pieces).read_block, b""))


def test_whole_chunks_in_one_block() -> None:
    """The payload of several chunks comes out in one piece."""
    answer = answer_of(CHUNKED_HEAD, chunk(b"one") + chunk(b"two") + LAST_CHUNK)
    assert [answer.read_block(), answer.read_block()] == [b"onetwo", b""]


def test_a_chunk_that_has_begun_is_not_held_back() -> None:
    """Bytes of a long chunk are handed on as they come."""
    answer = answer_of(CHUNKED_HEAD, b"a\r\n01234", b"56789\r\n")
    assert [answer.read_block(), answer.read_block()] == [b"01234", b"56789"]
    with pytest.raises(ConnectionBroken):
        answer.read_block()


def test_every_cut_gives_the_same_payload() -> None:
    """Where the bytes are cut makes no difference, for every pair of cuts."""
    data = chunk(b"hello\r\n") + b"3;name=value\r\nabc\r\n" + chunk(b"x" * 17) + b"0\r\nTrailer: 1\r\n\r\n"
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            pieces = [data[:first], data[first:second], data[second:]]
            assert read_pieces(*pieces) == b"hello\r\nabc" + b"x" * 17


def test_no_prefix_looks_like_the_end() -> None:
    """A stream that is cut anywhere before its last byte is not done."""
    data = chunk(b"one") + chunk(b"two") + LAST_CHUNK
    for length in range(len(data)):
        with pytest.raises(ConnectionBroken):
            read_pieces(data[:length])
    assert read_pieces(data) == b"onetwo"


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=8), st.randoms(use_true_random=False))
def test_random_chunks_in_random_pieces(parts: list[bytes], rng: random.Random) -> None:
    """Any payload survives any chunking and any cutting."""
    data = b"".join(map(chunk, parts)) + LAST_CHUNK
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(0, 6)))
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert read_pieces(*pieces) == b"".join(parts)


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\nabc\r\n",
        b"\r\n",
        b"-1\r\n",
        b"+5\r\nhello\r\n",
        b"0x5\r\nhello\r\n",
        b"5_0\r\n",
        b"3\r\nabcX",
        b"3\r\nabcXY\r\n",
        b"fffffffffffffffff\r\n",
        b"3\r\nabc\r\n<html>\r\n",
    ],
    ids=repr,
)
def test_garbage_is_an_error(data: bytes) -> None:
    """Nothing but chunked encoding passes for it, however it is cut."""
    with pytest.raises(BadAnswer):
        read_pieces(data)
    with pytest.raises(BadAnswer):
        read_pieces(*(data[index : index + 1] for index in range(len(data))))


@pytest.mark.parametrize("begin", [b"", b"1;name=", b"0\r\nTrailer: "], ids=["size", "extension", "trailer"])
def test_a_line_that_never_ends_is_an_error(begin: bytes) -> None:
    """An endless line where a size, an extension or a trailer should be does not fill the memory."""
    with pytest.raises(BadAnswer):
        read_pieces(begin, *[b"1" * 60_000] * 5)


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 60_000),
        (b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n" * 10_000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000),
    ],
    ids=["a field", "fields", "heads"],
)
def test_a_head_that_never_ends_is_an_error(begin: bytes, more: bytes) -> None:
    """An endless head does not fill the memory, nor do heads without an answer."""
    with pytest.raises(BadAnswer, match="256 kB without a body"):
        answer_of(begin, *[more] * 9)


def test_bytes_after_the_end_spoil_the_connection() -> None:
    """Bytes after the last chunk are dropped, and the connection is not used again."""
    answer = answer_of(CHUNKED_HEAD, chunk(b"a") + LAST_CHUNK)
    assert (b"".join(iter(answer.read_block, b"")), answer.keep_alive) == (b"a", True)
    for surplus in (b"rest", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 2"):
        answer = answer_of(CHUNKED_HEAD, chunk(b"a") + LAST_CHUNK + surplus)
        assert (b"".join(iter(answer.read_block, b"")), answer.keep_alive) == (b"a", False)
        assert (answer.status, answer.read_block()) == (200, b"")


def test_header_names_have_no_case() -> None:
    """A field is found however its name is written; a trailer is no header."""
    head = b"HTTP/1.1 429 Wait\r\nRetry-After: 5\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = answer_of(head, b"0\r\nretry-after: 7\r\nX-B: 3\r\n\r\n")
    assert answer.read_block() == b""
    assert answer.headers["retry-after"] == answer.headers["RETRY-AFTER"] == "5"
    assert answer.headers["X-A"] == "1, 2"
    assert "X-B" not in answer.headers
    assert answer.headers.get("missing") is None


@pytest.mark.parametrize("space", [" ", "  "])
def test_white_space_after_a_value_is_not_a_part_of_it(space: str) -> None:
    """A chunked body stays one, so that a cut between two chunks is noticed."""
    head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked{space}\r\nX-A: a b{space}\r\n\r\n".encode()
    answer = answer_of(head, chunk(b"abc"))
    assert answer.headers["x-a"] == "a b"
    assert answer.read_block() == b"abc"
    with pytest.raises(ConnectionBroken):
        answer.read_block()


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 204 OK\r\n\r\n", True),
        (b"HTTP/1.1 304 OK\r\n\r\n", True),
        (b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 204 OK\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\n\r\n", False),
    ],
)
def test_what_is_kept_alive(head: bytes, kept: bool) -> None:
    """A connection is used again when version, headers and framing allow."""
    answer = answer_of(head)
    assert answer.read_block() == b""
    assert answer.keep_alive is kept


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 1\n\n",
        b"HTTP/1.1 200 OK\r\nX : 1\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    ],
)
def test_a_head_with_two_meanings_is_refused(head: bytes) -> None:
    """Where readers differ about the end of a body, nothing is read."""
    answer = Answer(Pieces(head, b"0123456789"))
    with pytest.raises(BadAnswer, match="not a valid HTTP response"):
        answer.read_head()


def test_the_answer_to_a_head_request_has_no_body() -> None:
    """Its Content-Length is that of another request."""
    with WireServer(always(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")) as server:
        transport = HTTPTransport(ClientConfig(host=server.url))
        assert [transport.request("HEAD", "/").body for _ in range(2)] == [b"", b""]
        transport.close()
        assert server.connections == 1


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/a b", {}),
        ("/\r\nX: 1", {}),
        ("/\N{DIGIT ONE}\N{SNOWMAN}", {}),
        ("/", {"X": "1\r\nY: 2"}),
        ("/", {"X\n": "1"}),
    ],
)
def test_nothing_is_smuggled_into_a_request(target: str, headers: dict[str, str]) -> None:
    """A target or header that would make a second line is refused before a byte is sent."""
    with WireServer(always(response())) as server:
        with pytest.raises(ValueError, match=r"request line|line break"):
            HTTPTransport(ClientConfig(host=server.url)).request("GET", target, headers=headers)
        assert server.requests == []


def route_to(server: str) -> Route:
    return Route(urlsplit(server), None, "", spawn_thread, NO_METRICS.dns_resolution_duration)


def ask(server: str) -> tuple[Connection, Answer]:
    """Connect and send a GET; the head of the answer has been read."""
    route = route_to(server)
    deadline = time.monotonic() + 10
    connection = open_connection(route, None, deadline)
    arm(connection.sock, deadline=deadline)
    try:
        return connection, exchange(connection, "GET", "/path", [], None)
    except BaseException:
        connection.close()
        raise


def test_a_request_whose_time_to_be_sent_is_over_stays_here() -> None:
    """The socket looks before the first byte leaves: who was suspended after arming it sends nothing late."""
    with WireServer(always(response())) as server:
        route = route_to(server.url)
        connection = open_connection(route, None, time.monotonic() + 10)
        connection.sock.deadline = time.monotonic() - 1
        with pytest.raises(TimeoutError):
            exchange(connection, "PUT", "/", [], b"x", answer_deadline=time.monotonic() + 10)
        connection.close()
        assert server.requests == []


def read_from(script: Script) -> bytes:
    """The whole body that a script's answer gives."""
    with WireServer(script) as server:
        connection, answer = ask(server.url)
        try:
            return b"".join(iter(answer.read_block, b""))
        finally:
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
        answer.sock.sendall(b"GET /go HTTP/1.1\r\n\r\n")
        assert [answer.read_block(), answer.read_block(), answer.read_block()] == [b"second", b"", b""]
        connection.close()


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
    """FIN between chunks, and RST, are ConnectionBroken and never a clean end."""
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
    """A half-open connection ends at the read timeout."""
    with serve(silent_after(CHUNKED_HEAD + chunk(b"one\n")), served) as server:
        stream = open_stream(server, tls=served[1], read_seconds=0.1)
        assert stream.read_block() == b"one\n"
        with pytest.raises(DeadlineExceeded, match=r"no complete response in 0.1 s"):
            stream.read_block()


def test_the_default_read_timeout_is_75_seconds() -> None:
    """A half-open watch is noticed in at most 75 s."""
    with WireServer(silent_after(CHUNKED_HEAD)) as server:
        stream = HTTPTransport(ClientConfig(host=server.url)).stream("GET", "/watch")
        assert stream._answer.sock.idle_seconds == 75.0
        assert stream._answer.sock.deadline is None
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
        server.wait_for_open(0)


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
            server.wait_for_open(0)


def test_an_interrupted_read_gives_the_connection_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt in a read leaves no open connection behind."""

    def interrupt(_answer: object) -> bytes:
        raise KeyboardInterrupt

    with WireServer(silent_after(CHUNKED_HEAD)) as server:
        stream = open_stream(server)
        monkeypatch.setattr("handloop.client.http.exchange.Answer.read_block", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stream.read_block()
        server.wait_for_open(0)


def test_read_all_stops_at_its_limit() -> None:
    """What should be short does not fill the memory; the error names the cap and the request."""
    part = chunk(b"x" * 65_536)
    long = closing_after(CHUNKED_HEAD + part * 70 + LAST_CHUNK)
    with WireServer(long) as server:
        with pytest.raises(BadAnswer) as caught:
            open_stream(server).read_all()
        assert str(caught.value) == f"GET {server.url}/watch: the response is larger than the limit of 4 MiB"


def test_fields_that_came_more_than_once_are_joined() -> None:
    """A name is found in any spelling, with all its values; a replaced one has the last alone."""
    headers = Headers({"Warning": "299 - a"})
    headers.add("warning", "299 - b")
    assert headers["WARNING"] == "299 - a, 299 - b"
    assert list(headers.items()) == [("Warning", "299 - a, 299 - b")]
    headers["warning"] = "299 - c"
    assert dict(headers) == {"warning": "299 - c"}
