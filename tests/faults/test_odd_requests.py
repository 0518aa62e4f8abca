"""Every listener of the project and odd requests: each is refused or cut off, and the next is answered."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from random import Random
from typing import Final, NamedTuple

import pytest

from handloop.controller.runtime.serving.health import health_page
from handloop.controller.runtime.serving.page_server import TEXT, PageServer
from handloop_learn.live.guard import LOOPBACK_NAMES, TOKEN_HEADER
from handloop_learn.live.server import LiveServer
from handloop_sandbox.server import Sandbox

_METHODS: Final = ("HEAD", "OPTIONS", "TRACE", "CONNECT", "PRI", "get", "G" * 40, "")
_TARGETS: Final = (
    "", "*", "/", "//", "//[", "http://[", "http://[::1", "http://evil.example/", "http://127.0.0.1:x/",
    "/%", "/%zz", "/%ff", "/%00", "/\xff", "/../../etc/passwd", "/" + "a" * 9000, "/" + "a" * 70000,
    "/?" + "a=1&" * 900, "/?%zz=%", "/#x", "127.0.0.1:80",
)  # fmt: skip
_VERSIONS: Final = ("HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "HTTP/1.1x", "HTTP/1.", "ftp", "", "x y")
_HEADERS: Final = (
    "Host: evil.example", "Host: 127.0.0.1\r\nHost: evil.example", "Host:",
    "Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: x",
    "Transfer-Encoding: chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: gzip", "Content-Encoding: gzip", "Expect: 100-continue", "Expect: x",
    "Upgrade: websocket\r\nConnection: Upgrade", "Upgrade: h2c", "Connection: close, \xff", "no colon",
    "space : x", ": x", " folded: x", "x: \xff\xfe", "x: \x00", "x: \r", "x\x00: y", "Long: " + "a" * 9000,
    "Long: " + "a" * 70000, "\r\n".join(f"x-{number}: y" for number in range(150)), "Authorization: Bearer",
    "Authorization: Bearer \xff", "Authorization: " + "x" * 3000, "Authorization: Basic Og==",
    "Accept: \xff;;q=x", "Accept: application/json;as=Table;v=\xff;g=,", "Accept-Encoding: gzip;q=\xff",
    "Content-Type: \xff", "Content-Type: application/json; charset=nothing",
    "Content-Type: application/yaml", "Content-Type: application/json-patch+json",
    "Content-Type: application/apply-patch+yaml", "Range: bytes=9-1", "Cookie: \xff=;",
    "If-None-Match: \xff", "Sec-Fetch-Site: cross-site", "Origin: \xff", "Last-Event-ID: 1-" + "9" * 5000,
    "Impersonate-User: \xff", "X-Handloop-Token: \xff",
)  # fmt: skip
_BODIES: Final = (
    b"", b"[]", b"5", b"null", b'"x"', b"true", b"{", b"{}", b"\xff\xfe", b"\x00", b"NaN", b"1e999",
    b"9" * 5000, b"[" * 100_000, b'{"a":' * 100_000, b'{"metadata":5}', b'{"metadata":{"name":[]}}',
    b'{"metadata":{"name":"\\ud800"}}', b'{"apiVersion":[],"kind":{}}', b"5\r\nhello\r\n0\r\n\r\n",
    b"ffffffffffffffffff\r\nx", b"x\r\n", b"- &a [*a]", b"a: &a [*a, *a]", b'[{"op":5}]',
    b"GET / HTTP/1.1\r\n\r\n",
)  # fmt: skip


def odd_requests(
    seed: int, number: int, targets: Sequence[str], headers: Mapping[str, str]
) -> Iterator[bytes]:
    """
    Make requests, of which some are merely strange, and some are no HTTP.

    Args: targets are paths that the server knows; headers open its doors, and most requests have them.
    """
    random = Random(seed)
    for _ in range(number):
        if random.random() < 0.03:
            yield random.randbytes(random.randint(1, 300))
            continue
        target = random.choice(_TARGETS if random.random() < 0.2 else targets)
        method = random.choice(
            _METHODS if random.random() < 0.1 else ("GET", "POST", "PUT", "PATCH", "DELETE")
        )
        line = f"{method} {target} {random.choice(_VERSIONS) if random.random() < 0.1 else 'HTTP/1.1'}"
        head = [f"{name}: {value}" for name, value in headers.items() if random.random() < 0.97]
        head += random.choices(_HEADERS, k=random.choice((0, 0, 1, 2)))
        body = b"" if method == "GET" and random.random() < 0.9 else random.choice(_BODIES)
        if body and random.random() < 0.9:
            head.append(f"Content-Length: {len(body)}")
        random.shuffle(head)
        ends = "\n" if random.random() < 0.05 else "\r\n"
        yield ends.join((line, *head, "", "")).encode("latin-1") + body


def first_line(port: int, request: bytes) -> bytes:
    """
    The first line of what a server on loopback answers, b"" if it closes the connection without one.

    Blocks: for half a second until the client says that nothing more comes, then until the server ends it.
    """
    with closing(socket.create_connection(("127.0.0.1", port), timeout=0.5)) as connection:
        answer = b""
        with suppress(ConnectionError):
            connection.sendall(request)
            with suppress(TimeoutError):
                answer = connection.recv(1000)
            if not answer:
                connection.settimeout(20)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(1000)
        return answer.partition(b"\r\n")[0]


_REQUESTS: Final = 300
_SEED: Final = 1


class Listener(NamedTuple):
    """A running server: paths that it knows, and the headers that open its doors."""

    port: int
    known: tuple[str, ...]
    headers: dict[str, str]


@contextmanager
def _pages() -> Iterator[Listener]:
    pages = {"/healthz": health_page({"ping": lambda: None}), "/metrics": lambda _: (200, TEXT, b"")}
    server = PageServer("127.0.0.1", 0, pages, purpose="health", names=LOOPBACK_NAMES)
    server.start()
    try:
        yield Listener(server.port, ("/healthz", "/healthz/ping", "/metrics"), {"Host": "127.0.0.1"})
    finally:
        server.stop()


@contextmanager
def _live() -> Iterator[Listener]:
    server = LiveServer("127.0.0.1", 0, names=LOOPBACK_NAMES, controls=True)
    server.start()
    host = f"127.0.0.1:{server.port}"
    ours = {"Host": host, "Origin": f"http://{host}", TOKEN_HEADER: server._guard.token}
    paths = ("", "events", "controls/pause", "controls/x", "source/3", f"source/{'9' * 5000}")
    known = (*(f"/debug/live/{path}" for path in paths), "/debug/state", "/debug/compare", "/debug/stacks")
    try:
        yield Listener(server.port, known, ours)
    finally:
        server.stop()


@contextmanager
def _sandbox() -> Iterator[Listener]:
    with Sandbox() as sandbox:
        maps = "/api/v1/namespaces/default/configmaps"
        known = (
            maps,
            f"{maps}/x",
            f"{maps}?watch=1",
            "/apis",
            "/openapi/v2",
            "/version",
            "/sandbox/faults",
            "/readyz",
        )
        ours = {
            "Host": "127.0.0.1",
            "Authorization": f"Bearer {sandbox.token}",
            "Content-Type": "application/json",
        }
        yield Listener(int(sandbox.url.rpartition(":")[2]), known, ours)


@pytest.mark.parametrize("serving", [_pages, _live, _sandbox])
def test_odd_requests_are_refused_and_leave_nothing_behind(
    serving: object, caplog: pytest.LogCaptureFixture
) -> None:
    """No error of the server, no traceback in the log; afterwards it still answers."""
    assert callable(serving)
    with serving() as listener:
        for request in odd_requests(_SEED, _REQUESTS, listener.known, listener.headers):
            assert b" 500 " not in first_line(listener.port, request), request[:300]
        with urllib.request.urlopen(f"http://127.0.0.1:{listener.port}{listener.known[-1]}") as answer:
            assert answer.status == 200
    assert not [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"]
