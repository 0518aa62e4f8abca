from __future__ import annotations

import contextlib
import gc
import http.client
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from handloop_sandbox.clock import SettableClock
from handloop_sandbox.engine import Engine
from handloop_sandbox.http import HTTPServer
from handloop_sandbox.requests.request import Request, Response
from support.checks.threads import Background

_PATH = "/api/v1/namespaces/default/configmaps"


class _Running:
    def __init__(self) -> None:
        clock = SettableClock()
        self.engine = Engine(clock=clock)
        self.server = HTTPServer(self.engine, clock)
        self.engine.listen(self.server.schedule)
        self.port = self.server.start(0)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self.connect()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content

    def is_pausing(self) -> bool:
        """Whether some watch waits for its client to read."""
        return any(output.paused for output in self.engine._watchers)

    def create(self, name: str) -> None:
        status, _, content = self.request("POST", _PATH, json.dumps({"metadata": {"name": name}}).encode())
        assert status == 201, content


@pytest.fixture
def running() -> Iterator[_Running]:
    """A server on a free port."""
    server = _Running()
    yield server
    server.server.stop()


def test_requests_and_answers(running: _Running) -> None:
    """Status, headers and body arrive as the engine gave them."""
    running.create("a")
    status, headers, content = running.request("GET", f"{_PATH}?fieldSelector=metadata.name%3Da")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert len(json.loads(content)["items"]) == 1
    assert running.request("GET", "/nowhere")[0] == 404
    assert running.request("HEAD", _PATH)[2] == b""


def test_connections_are_kept(running: _Running) -> None:
    """One connection carries many requests."""
    connection = running.connect()
    for _ in range(3):
        connection.request("GET", "/version")
        assert connection.getresponse().read()
    assert connection.sock is not None
    connection.close()


def test_watches_are_streamed(running: _Running) -> None:
    """Lines come as things happen, to every watch, and the stream ends in time."""
    connections = [running.connect() for _ in range(5)]
    for connection in connections:
        connection.request("GET", f"{_PATH}?watch=1&timeoutSeconds=2")
    answers = [connection.getresponse() for connection in connections]
    running.create("a")
    for answer in answers:
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert json.loads(answer.readline())["object"]["metadata"]["name"] == "a"
    for answer, connection in zip(answers, connections, strict=True):
        assert answer.readline() == b""
        connection.close()


def test_a_client_that_leaves_is_forgotten(running: _Running) -> None:
    """When a watching client goes, its watch goes too."""
    connection = running.connect()
    connection.request("GET", f"{_PATH}?watch=1")
    connection.getresponse()
    assert len(running.engine._watchers) == 1
    assert connection.sock is not None
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
    gone = threading.Event()
    for _ in range(400):
        if not running.engine._watchers:
            gone.set()
            break
        gone.wait(0.025)
    assert gone.is_set()


def test_stopping_ends_watches(running: _Running) -> None:
    """stop() ends open streams cleanly, closes the port, and can be repeated."""
    connection = running.connect()
    connection.request("GET", f"{_PATH}?watch=1")
    answer = connection.getresponse()
    running.server.stop()
    assert answer.readline() == b""
    connection.close()
    running.server.stop()
    with pytest.raises(ConnectionRefusedError):
        running.request("GET", "/version")


def test_stopping_while_connections_arrive(running: _Running) -> None:
    """Connections that are only just accepted are closed, too: an unclosed socket would be a warning here."""
    probes = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(5)]
    running.server.stop()
    for probe in probes:
        with contextlib.suppress(ConnectionResetError):  # when it was still waiting to be accepted
            assert probe.recv(1) == b""
        probe.close()
    gc.collect()


def _fill(running: _Running, objects: int) -> None:
    """Store objects of 20 kB, more in all than a socket takes."""
    for number in range(objects):
        body = {"metadata": {"name": f"c{number:03d}"}, "data": {"filler": "x" * 20_000}}
        request = Request("POST", _PATH, body=json.dumps(body).encode())
        answer = running.engine.handle(request)
        assert isinstance(answer, Response)
        assert answer.status == 201


def _until(holds: Callable[[], object]) -> None:
    """Wait for something the server's thread does."""
    for _ in range(800):
        if holds():
            return
        threading.Event().wait(0.025)
    raise AssertionError("it does not happen")


def _unread(running: _Running, query: str) -> socket.socket:
    """A connection with a request on it whose answer is not read yet."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect(("127.0.0.1", running.port))
    connection.sendall(f"GET {_PATH}?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def test_a_slow_watch_gets_no_more_than_it_reads(running: _Running) -> None:
    """A client that does not read takes little of the server's memory, and misses nothing when it does."""
    _fill(running, 600)
    slow = _unread(running, "watch=1&resourceVersion=0&timeoutSeconds=20")
    _until(running.is_pausing)
    (pump,) = running.server._pumps.values()
    assert pump.transport.get_write_buffer_size() < 4 * 2**20
    running.create("later")
    assert running.request("GET", "/version")[0] == 200
    with slow, slow.makefile("rb") as reader:
        names = []
        while "later" not in names:
            line = reader.readline()
            assert line
            if line.startswith(b"{"):
                names.append(json.loads(line)["object"]["metadata"]["name"])
    assert names == [*(f"c{number:03d}" for number in range(600)), "later"]


def test_a_slow_client_that_leaves_is_forgotten(running: _Running, caplog: pytest.LogCaptureFixture) -> None:
    """A watch that waits for its client to read ends without a word when the client goes."""
    _fill(running, 600)
    slow = _unread(running, "watch=1&resourceVersion=0")
    _until(running.is_pausing)
    slow.close()
    _until(lambda: not running.engine._watchers)
    assert not caplog.records


def _begin(running: _Running, head: str) -> socket.socket:
    """A connection on which a request has begun to come."""
    connection = socket.create_connection(("127.0.0.1", running.port), timeout=20)
    connection.sendall(f"{head}Host: localhost\r\n\r\n".encode())
    return connection


@pytest.mark.parametrize("stuck", ["watch", "watches", "list", "half a body"])
def test_a_client_that_does_not_read_or_write_is_not_waited_for(
    running: _Running, stuck: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A stop breaks connections that are stuck after a grace, without a word."""
    _fill(running, 600)
    watch = f"GET {_PATH}?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if stuck == "half a body":
        connection = _begin(running, f"POST {_PATH} HTTP/1.1\r\nContent-Length: 10\r\n")
        connection.sendall(b"abc")
    else:
        connection = _unread(running, "limit=600" if stuck == "list" else "watch=1&resourceVersion=0")
    with connection:
        if stuck == "watches":
            connection.sendall(watch.encode() * 2)
        _until(
            running.is_pausing if stuck.startswith("watch") else lambda: running.server._connections.exchanges
        )
        Background(running.server.stop).result()
    assert not caplog.records


def test_an_answer_on_its_way_arrives(running: _Running) -> None:
    """A stop gives a request that waits, and the client that reads, the time for it."""
    running.engine.faults.latency(3600, count=1)
    with _begin(running, "GET /version HTTP/1.1\r\n") as connection, connection.makefile("rb") as reader:
        _until(lambda: running.server._held)
        running.server.stop()
        assert reader.readline() == b"HTTP/1.1 200 OK\r\n"
        assert b"gitVersion" in reader.read()


def test_long_answers_arrive_whole(running: _Running) -> None:
    """A list of many megabytes comes as one answer; others are served while its client is slow to read it."""
    _fill(running, 400)
    with _unread(running, "limit=400") as slow:
        assert running.request("GET", "/version")[0] == 200
        answer = http.client.HTTPResponse(slow)
        answer.begin()
        content = answer.read()
    assert int(answer.headers["Content-Length"]) == len(content) > 8_000_000
    assert len(json.loads(content)["items"]) == 400
    assert running.request("GET", _PATH)[2] == content


def test_a_port_that_is_taken(running: _Running) -> None:
    """Starting on a port in use raises in the thread that starts."""
    clock = SettableClock()
    second = HTTPServer(Engine(clock=clock), clock)
    with pytest.raises(OSError, match="Address already in use"):
        second.start(running.port)


def test_bodies_are_bounded(running: _Running) -> None:
    """A body over 3 MiB is 413 as a Status."""
    status, _, content = running.request("POST", _PATH, b"x" * (3 * 1024 * 1024 + 10))
    assert (status, json.loads(content)["reason"]) == (413, "RequestEntityTooLarge")


def test_only_loopback_names_are_served(running: _Running) -> None:
    """A page that points a name of its own at the loopback address is refused."""
    assert running.request("GET", "/version", Host="evil.example.com")[0] == 403
    assert running.request("GET", "/version", Host=f"localhost:{running.port}")[0] == 200
    with socket.socket() as probe:
        probe.settimeout(0.5)
        assert probe.connect_ex(("127.0.0.1", running.port)) == 0


_HOST = b"Host: 127.0.0.1\r\n\r\n"
_POST = b"POST " + _PATH.encode() + b" HTTP/1.1\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
        b"hello\r\n\r\n",
        b"GET /version\r\n\r\n",
        b"GET / a HTTP/1.1\r\n" + _HOST,
        b"GET /version HTTP/9.9\r\n" + _HOST,
        b"GET /version HTTP/0.9\r\n" + _HOST,
        b"GET /version HTTP/1.1\r\n\r\n",
        b"GET /version HTTP/1.1\r\nno colon\r\n" + _HOST,
        b"GET /version HTTP/1.1\r\nNul: \0\r\n" + _HOST,
        b"GET http://[::1/version HTTP/1.1\r\n" + _HOST,
        b"GET * HTTP/1.1\r\n" + _HOST,
        b"GET version HTTP/1.1\r\n" + _HOST,
        b"GET /%zz HTTP/1.1\r\n" + _HOST,
        b"GET /\xff HTTP/1.1\r\n" + _HOST,
        _POST + b"Content-Length: -1\r\n" + _HOST,
        _POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" + _HOST,
        _POST + b"Transfer-Encoding: chunked\r\n" + _HOST + b"zz\r\n",
        _POST + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n" + _HOST + b"abc",
    ],
)
def test_bytes_that_are_no_request_get_an_error(
    running: _Running, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A malformed line, header, target, length, chunk or encoding is 400 for the client, and nothing here."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as raw:
        raw.sendall(sent)
        with raw.makefile("rb") as answer:
            assert answer.readline().split()[1] == b"400"
    assert running.request("GET", "/version")[0] == 200
    assert not caplog.records


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /vers",
        b"GET /version HTTP/1.1\r\n" + _HOST,
        b"GET /api/v1/pods?watch=1 HTTP/1.1\r\n" + _HOST,
        _POST + b"Content-Length: 20\r\n" + _HOST + b"abc",
        _POST + b"Transfer-Encoding: chunked\r\n" + _HOST + b"5\r\nab",
    ],
)
@pytest.mark.parametrize("reset", [False, True])
def test_clients_that_leave_are_not_logged(
    running: _Running, sent: bytes, reset: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A request that is cut, half-closed or reset leaves no trace."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as raw:
        raw.sendall(sent)
        if reset:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            raw.shutdown(socket.SHUT_WR)
            raw.makefile("rb").read()
    assert running.request("GET", "/version")[0] == 200
    assert not caplog.records


def test_a_body_has_to_come(running: _Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that promises a body and does not send it gets an error after a while."""
    monkeypatch.setattr("handloop_sandbox.http._BODY_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as raw:
        raw.sendall(_POST + b"Content-Length: 20\r\n" + _HOST + b"abc")
        with raw.makefile("rb") as answer:
            assert answer.readline().split()[1] == b"400"
