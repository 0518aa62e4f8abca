from __future__ import annotations

import contextlib
import gc
import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from sandbox.clock import RealClock
from sandbox.engine import Engine
from sandbox.http import HTTPServer

_PATH = "/api/v1/namespaces/default/configmaps"


class _Running:
    def __init__(self) -> None:
        clock = RealClock()
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


def test_a_port_that_is_taken(running: _Running) -> None:
    """Starting on a port in use raises in the thread that starts."""
    clock = RealClock()
    second = HTTPServer(Engine(clock=clock), clock)
    with pytest.raises(OSError, match="address already in use"):
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
