"""A watch by WebSocket, as the Java clients ask for it first."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from support.servers.api_server import APIServer, Object

_KEY = "dGhlIHNhbXBsZSBub25jZQ=="
_ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
_HEADERS = {
    "Connection": "keep-alive, Upgrade",
    "Upgrade": "WebSocket",
    "Sec-WebSocket-Key": _KEY,
    "Sec-WebSocket-Version": "13",
    "Origin": "http://somewhere",
}
_CLOSE, _PING, _PONG, _TEXT = 0x88, 0x89, 0x8A, 0x81


class Messages:
    """One connection: the status and the headers of the answer, then frames."""

    def __init__(self, connection: socket.socket, stream: IO[bytes]) -> None:
        self._connection = connection
        self._stream = stream
        self.status = int(self._stream.readline().split()[1])
        lines = iter(lambda: self._stream.readline().decode().strip(), "")
        self.headers = {name.lower(): text for name, _, text in (line.partition(": ") for line in lines)}

    def read(self) -> tuple[int, bytes]:
        """The next frame: its first byte, and its content; (0, b"") at the end of the connection."""
        head = self._stream.read(2)
        if not head:
            return 0, b""
        size = head[1]
        if size >= 126:
            size = int.from_bytes(self._stream.read(2 if size == 126 else 8))
        return head[0], self._stream.read(size)

    def event(self) -> tuple[str, Object]:
        """The next message, which is an event."""
        first, content = self.read()
        assert first == _TEXT
        assert content.endswith(b"\n")
        event = json.loads(content)
        return event["type"], event["object"]

    def send(self, first: int, content: bytes) -> None:
        """A frame with a mask that changes nothing."""
        self._connection.sendall(struct.pack("!BB4x", first, 0x80 | len(content)) + content)

    def chunk(self) -> bytes:
        """The next chunk of an answer that is none by WebSocket."""
        return self._stream.read(int(self._stream.readline(), base=16))


@contextmanager
def _asked(server: APIServer, path: str, headers: dict[str, str]) -> Iterator[Messages]:
    connection = server.endpoint.connect(60)
    if server.endpoint.token:
        headers = {**headers, "Authorization": f"Bearer {server.endpoint.token}"}
    lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    connection.connect()
    with connection.sock as sock, sock.makefile("rb") as stream:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {connection.host}\r\n{lines}\r\n".encode())
        yield Messages(sock, stream)


def _maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def test_each_event_is_a_message(server: APIServer, namespace: str) -> None:
    """A short one and a long one; a ping is answered, and so is the end, in whichever order."""
    path = _maps(namespace)
    query = "?watch=true&resourceVersion=0&labelSelector=mine"
    with _asked(server, path + query, _HEADERS) as messages:
        assert (messages.status, messages.headers["sec-websocket-accept"]) == (101, _ACCEPT)
        assert "sec-websocket-protocol" not in messages.headers
        for name, text in (("short", "x"), ("long", "x" * 70_000)):
            made = {"metadata": {"name": name, "labels": {"mine": ""}}, "data": {"key": text}}
            assert server.create(path, made).status == 201
            kind, obj = messages.event()
            assert (kind, obj["metadata"]["name"], obj["data"]["key"]) == ("ADDED", name, text)
        messages.send(_PING, b"there?")
        assert messages.read() == (_PONG, b"there?")
        messages.send(_CLOSE, b"\x03\xe8")
        assert messages.read() == (_CLOSE, b"\x03\xe8")
        assert messages.read() == (0, b"")


def test_the_end_of_the_watch_closes_the_socket(server: APIServer, namespace: str) -> None:
    """With the code of a normal end; the one protocol that was asked for was taken."""
    headers = {**_HEADERS, "Sec-WebSocket-Protocol": "any.thing"}
    with _asked(
        server, f"{_maps(namespace)}?watch=true&timeoutSeconds=1&labelSelector=none", headers
    ) as messages:
        assert (messages.status, messages.headers["sec-websocket-protocol"]) == (101, "any.thing")
        assert messages.read() == (_CLOSE, b"\x03\xe8")


@pytest.mark.parametrize(
    ("left_out", "more", "status"),
    [
        ("Origin", {}, 403),
        ("Sec-WebSocket-Key", {}, 400),
        ("", {"Sec-WebSocket-Protocol": "a.b, c.d"}, 400),
        ("Upgrade", {}, 200),
        ("Connection", {}, 200),
    ],
)
def test_what_is_asked_for_has_to_be_whole(
    server: APIServer, namespace: str, left_out: str, more: dict[str, str], status: int
) -> None:
    """Without the words for it, it is a watch like any other."""
    headers = {name: text for name, text in _HEADERS.items() if name != left_out} | more
    with _asked(server, f"{_maps(namespace)}?watch=true&timeoutSeconds=1", headers) as messages:
        assert messages.status == status
        if status == 200:
            assert json.loads(messages.chunk().splitlines()[0])["type"] == "ADDED"


@pytest.mark.parametrize(
    ("resource", "status"),
    [("configmaps?limit=1", 200), ("nothings?watch=true", 404)],
    ids=["list", "unknown"],
)
def test_nothing_else_becomes_a_socket(server: APIServer, namespace: str, resource: str, status: int) -> None:
    """An answer that is no watch has its status and its body."""
    path = f"/api/v1/namespaces/{namespace}/{resource}"
    with _asked(server, path, _HEADERS) as messages:
        assert messages.status == status
        assert messages.headers["content-type"] == "application/json"
