"""
One connection to the API server: urllib3's, with a deadline beneath and answers read in raw blocks.

urllib3 makes the connection, TLS, the proxy tunnel and the request. Its response wrapper and its pool are not
used: they cost more per watch event than decoding it, and do not tell whether a failed request was sent.
"""

from __future__ import annotations

import http.client
import socket
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote

from urllib3.connection import HTTPConnection, HTTPSConnection, ProxyConfig
from urllib3.util import parse_url

from handloop.client.http.chunked import Dechunker
from handloop.client.http.deadline_socket import DeadlineSocket, DeadlineSSLSocket, with_deadline
from handloop.client.http.resolver import connect, resolve
from handloop.workqueue.spawn import Spawn

BLOCK_BYTES: Final = 131_072
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class _Head:
    """The file that a head is read from; remembers its last line, which is empty in a whole head."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.last_line = b""

    def readline(self, limit: int = -1) -> bytes:
        self.last_line = self.file.readline(limit)
        return self.last_line

    def close(self) -> None:
        self.file.close()

    def flush(self) -> None:
        self.file.flush()


class Answer(http.client.HTTPResponse):
    """
    A response whose body is read block by block, and that tells a cut body from a whole one.

    State: _dechunker and _ended belong to the reading thread. transport_socket is the socket beneath, which
    the connection forgets when the answer is the last one on it.
    """

    transport_socket: Any = None
    fp: Any
    _dechunker: Dechunker | None = None
    _ended = False

    def begin(self) -> None:
        """
        Read the head.

        The library takes a connection that ends inside the head for a whole one.

        Raises: http.client.RemoteDisconnected for that, too.
        """
        head = _Head(self.fp)
        self.fp = head
        try:
            super().begin()
        finally:
            if self.fp is head:
                self.fp = head.file
        if head.last_line not in (b"\r\n", b"\n"):
            raise http.client.RemoteDisconnected("the connection ended inside the head")

    def read_block(self) -> bytes:
        """
        The next bytes of the body, b"" at its end.

        Raises: http.client.IncompleteRead when the connection ends first; ChunkError; OSError.
        Blocks: for at least one byte.
        """
        if self._ended:
            return b""
        block = self._read_chunked() if self.chunked else self._read_identity()
        if not block:
            self._ended = True
        return block

    def _read_chunked(self) -> bytes:
        dechunker = self._dechunker
        if dechunker is None:
            dechunker = self._dechunker = Dechunker()
        while not dechunker.done:
            data = self.fp.read1(BLOCK_BYTES)
            if not data:
                raise http.client.IncompleteRead(b"")
            if block := dechunker.feed(data):
                return block
        return b""

    def _read_identity(self) -> bytes:
        if self.length is None:
            return bytes(self.fp.read1(BLOCK_BYTES))
        if self.length == 0:
            return b""
        data = bytes(self.fp.read1(min(self.length, BLOCK_BYTES)))
        if not data:
            raise http.client.IncompleteRead(b"", self.length)
        self.length -= len(data)
        return data


class _Timed:
    """Connects within a deadline. Mixed into urllib3's classes, whose `_dns_host` and `port` it uses."""

    deadline: float = 0.0
    route: Route
    _dns_host: str
    port: int

    def _new_conn(self) -> socket.socket:
        started_at = time.monotonic()
        addresses = resolve(self._dns_host, self.port, deadline=self.deadline, spawn=self.route.spawn)
        self.route.resolved(self._dns_host, time.monotonic() - started_at)
        sock = with_deadline(connect(addresses, deadline=self.deadline))
        sock.arm(deadline=self.deadline)
        return sock


class PlainConnection(_Timed, HTTPConnection):
    """http."""

    response_class = Answer


class SecureConnection(_Timed, HTTPSConnection):
    """https."""

    response_class = Answer


Connection = PlainConnection | SecureConnection


class Route(NamedTuple):
    """
    Where connections go: the server, or a proxy on the way to it.

    resolved is told how many seconds the resolution of a name took.
    """

    server: SplitResult
    proxy: SplitResult | None
    tls_server_name: str
    spawn: Spawn
    resolved: Callable[[str, float], None]

    @property
    def verified_name(self) -> str:
        """What the server's certificate has to be for."""
        return self.tls_server_name or self.server.hostname or ""

    def target(self, path: str) -> str:
        """What stands in the request line: a plain server behind a proxy is named in full."""
        if self.proxy is not None and self.server.scheme == "http":
            return f"http://{self.server.netloc}{path}"
        return path

    def headers(self) -> dict[str, str]:
        """What a proxy that forwards requests must be told."""
        return _proxy_headers(self.proxy) if self.proxy is not None and self.server.scheme == "http" else {}


def new_connection(route: Route, context: Any) -> Connection:
    """
    A connection that is not open yet.

    Args: context is the SSLContext for an https server, else None.
    """
    first_hop = route.proxy or route.server
    host, port = first_hop.hostname or "", _port(first_hop)
    connection: Connection
    if route.server.scheme == "http":
        connection = PlainConnection(host, port)
    else:
        context.sslsocket_class = DeadlineSSLSocket
        connection = SecureConnection(
            host,
            port,
            ssl_context=context,
            server_hostname=route.tls_server_name or None,
            **_proxy_options(route.proxy),
        )
    connection.route = route
    return connection


def open_connection(connection: Connection, route: Route, deadline: float) -> None:
    """
    Connect, through the proxy's tunnel if there is one, and shake hands.

    Raises: OSError (also ssl.SSLError, socket.gaierror, TimeoutError), http.client.HTTPException.
    Blocks: until the deadline (monotonic) at most.
    """
    connection.deadline = deadline
    connection.timeout = max(0.001, deadline - time.monotonic())
    if route.proxy is not None and route.server.scheme == "https":
        connection.set_tunnel(
            route.server.hostname or "",
            _port(route.server),
            headers=_proxy_headers(route.proxy),
            scheme=route.proxy.scheme,
        )
    connection.connect()


def arm(sock: Any, *, deadline: float | None, idle_seconds: float | None = None) -> None:
    """
    Set what the next sends and receives may take; beneath a TLS proxy only each of them is bounded.

    Raises: TimeoutError when the deadline has passed.
    """
    if isinstance(sock, DeadlineSocket | DeadlineSSLSocket):
        sock.arm(deadline=deadline, idle_seconds=idle_seconds)
        sock.settimeout(sock.left())
    else:
        sock.settimeout(idle_seconds if deadline is None else _left(deadline))


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("deadline exceeded")
    return left


def exchange(
    connection: Connection,
    method: str,
    target: str,
    headers: Any,
    body: bytes | None,
    *,
    answer_deadline: float | None = None,
) -> Answer:
    """
    Send a request and read the head of its answer; the socket is armed by the caller.

    Args: answer_deadline replaces the deadline of the sending once that is done, None = it holds on.
    Raises: OSError, http.client.HTTPException.
    """
    connection.timeout = connection.sock.gettimeout()
    connection.request(method, target, body=body, headers=headers, preload_content=False)
    sock = connection.sock
    if answer_deadline is not None:
        arm(sock, deadline=answer_deadline)
    answer = http.client.HTTPConnection.getresponse(connection)
    assert isinstance(answer, Answer)
    answer.transport_socket = sock
    return answer


def _port(url: SplitResult) -> int:
    return url.port or _DEFAULT_PORTS[url.scheme]


def _proxy_options(proxy: SplitResult | None) -> dict[str, Any]:
    if proxy is None:
        return {}
    return {
        "proxy": parse_url(f"{proxy.scheme}://{proxy.hostname}:{_port(proxy)}"),
        "proxy_config": ProxyConfig(
            ssl_context=None, use_forwarding_for_https=False, assert_hostname=None, assert_fingerprint=None
        ),
    }


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(pair).decode()}"}
