"""Faults as a client behind a socket meets them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator

import pytest

from handloop.testing.eventually import eventually as until
from handloop_sandbox.clock import SettableClock
from handloop_sandbox.server import Sandbox

_MAPS = "/api/v1/namespaces/default/configmaps"


class _Client:
    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.headers = {"Authorization": f"Bearer {sandbox.token}"}

    def connect(self, *, timeout: float = 20.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            "127.0.0.1", int(self.sandbox.url.rpartition(":")[2]), timeout=timeout
        )

    def request(
        self, method: str, path: str, body: object = None, *, timeout: float = 20.0
    ) -> tuple[int, bytes]:
        connection = self.connect(timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self.headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def create(self, name: str) -> None:
        assert self.request("POST", _MAPS, {"metadata": {"name": name}})[0] == 201

    def watch(self) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self.connect()
        connection.request("GET", f"{_MAPS}?watch=1", headers=self.headers)
        return connection, connection.getresponse()


@pytest.fixture
def client() -> Iterator[_Client]:
    """A running sandbox on a settable clock, without life of its own."""
    with Sandbox(controllers=(), clock=SettableClock()) as sandbox:
        yield _Client(sandbox)


def test_curl_is_enough(client: _Client) -> None:
    """A fault is asked for and cleared by plain requests, with the token in the path."""
    prefix = f"/{client.sandbox.token}/sandbox/faults"
    client.headers = {}
    assert client.request("POST", prefix, {"fault": "error", "code": 503})[0] == 201
    assert client.request("GET", f"/{client.sandbox.token}{_MAPS}")[0] == 503
    assert client.request("DELETE", prefix)[0] == 200
    assert client.request("GET", f"/{client.sandbox.token}{_MAPS}")[0] == 200
    assert client.request("POST", "/sandbox/faults", {"fault": "error"})[0] == 403


def test_a_lost_answer_is_a_reset_connection(client: _Client) -> None:
    """The write happened, the client sees the connection die."""
    client.sandbox.faults.lose_answer(count=1)
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        client.create("a")
    assert client.request("GET", f"{_MAPS}/a")[0] == 200


def test_an_answer_that_never_comes(client: _Client) -> None:
    """The connection stays open without a byte; stopping the sandbox ends it."""
    client.sandbox.faults.silence(verbs=["get"])
    with pytest.raises(TimeoutError):
        client.request("GET", f"{_MAPS}/a", timeout=0.3)
    connection = client.connect()
    connection.request("GET", f"{_MAPS}/a", headers=client.headers)
    client.sandbox.stop()
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        connection.getresponse()
    connection.close()


def test_latency_is_by_the_sandboxs_clock(client: _Client) -> None:
    """Others are served meanwhile; once the clock has moved on the answer comes."""
    client.sandbox.faults.latency(3600, verbs=["list"])
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(client.request("GET", _MAPS)[0]), name="waiting")
    waiting.start()
    until(
        lambda: not client.sandbox.engine.faults.list() or client.sandbox.engine.faults.list()[0].hits,
        "asked",
        seconds=10,
    )
    client.create("a")
    assert answers == []
    clock = client.sandbox.clock
    assert isinstance(clock, SettableClock)
    clock.advance(3600)
    waiting.join(20)
    assert answers == [200]


@pytest.mark.parametrize(
    ("how", "end"),
    [("end", None), ("cut", http.client.IncompleteRead), ("reset", ConnectionResetError)],
)
def test_how_a_watch_ends(client: _Client, how: str, end: type[Exception] | None) -> None:
    """As it should, in the middle of the body, or by a reset; earlier bytes have arrived."""
    connection, answer = client.watch()
    client.create("a")
    assert json.loads(answer.readline())["object"]["metadata"]["name"] == "a"
    status, _ = client.request(
        "POST", "/sandbox/faults", {"fault": "drop-watch", "how": how, "onlyOpen": True}
    )
    assert status == 201
    if end is None:
        assert answer.read1() == b""
    else:
        with pytest.raises(end):
            answer.read1()
    connection.close()


def test_a_half_open_watch(client: _Client) -> None:
    """No byte, no end; cleared, it goes on."""
    silence = client.sandbox.faults.silence()
    connection, answer = client.watch()
    client.create("a")
    assert connection.sock is not None
    connection.sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        answer.read1()
    connection.close()
    connection, answer = client.watch()
    silence.clear()
    assert json.loads(answer.readline())["object"]["metadata"]["name"] == "a"
    connection.close()


def test_delayed_events(client: _Client) -> None:
    """They come when the sandbox's clock has moved on."""
    client.sandbox.faults.delay_watches(3600)
    connection, answer = client.watch()
    client.create("a")
    clock = client.sandbox.clock
    assert isinstance(clock, SettableClock)
    clock.advance(3601)
    assert json.loads(answer.readline())["object"]["metadata"]["name"] == "a"
    connection.close()
