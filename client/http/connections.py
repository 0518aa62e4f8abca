"""
Connections to one server: urllib3 makes them, with TLS and the proxy's tunnel; idle ones wait for a request.

urllib3's pool and its reading of answers are not used: they cost more per watch event than decoding it, and
do not tell whether a failed request was sent.
"""

from __future__ import annotations

import socket
import time
import weakref
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote

from urllib3.connection import HTTPConnection, HTTPSConnection, ProxyConfig
from urllib3.util import parse_url

from handloop.client.auth.tls import KeyPair, TLSContexts
from handloop.client.http.certificate import Certificate
from handloop.client.http.failures import shown_certificate
from handloop.client.http.sockets import DeadlineSSLSocket, connect, resolve, with_deadline
from handloop.workqueue.locks import new_lock
from handloop.workqueue.seams import Spawn

# net/http's IdleConnTimeout as client-go sets it; servers and balancers drop idle connections a little later
_IDLE_SECONDS: Final = 90.0
_MAX_IDLE: Final = 32
_PROBE_SECONDS: Final = 5.0
_LOCK_RANK: Final = 97
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class _Timed:
    """Connects within a deadline. Mixed into urllib3's classes, whose `_dns_host` and `port` it uses."""

    deadline: float = 0.0
    route: Route
    host_header: str
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


class SecureConnection(_Timed, HTTPSConnection):
    """https."""


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

    @property
    def host_header(self) -> str:
        """What the Host header says: the server, with its port unless the scheme implies it."""
        name = (self.server.hostname or "").rstrip(".")
        name = f"[{name.partition('%')[0]}]" if ":" in name else name.encode("idna").decode()
        port = _port(self.server)
        return name if port == _DEFAULT_PORTS[self.server.scheme] else f"{name}:{port}"

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
    connection.route, connection.host_header = route, route.host_header
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


class _Idle(NamedTuple):
    connection: Connection
    generation: int
    since: float


class Connections:
    """
    Lends connections: each belongs to one thread at a time.

    State: _idle, most recently used last, so that the few that are needed stay warm and the others expire;
    _closed ends the keeping. Threads: any; nothing is closed or opened under the lock.
    """

    def __init__(self, route: Route, contexts: TLSContexts | None) -> None:
        """Args: contexts is None for a plain http server."""
        self._route = route
        self._contexts = contexts
        self._lock = new_lock("Connections._lock", _LOCK_RANK)
        self._idle: list[_Idle] = []
        self._closed = False
        # a transport that nobody closed gives its idle connections up when nobody can use them any more
        weakref.finalize(self, _close_all, self._idle)

    def take_idle(self, key_pair: KeyPair | None) -> Lent | None:
        """A connection that was used before and is still open, or None."""
        generation = self._generation(key_pair)
        while True:
            with self._lock:
                if not self._idle:
                    return None
                idle = self._idle.pop()
            fresh = time.monotonic() - idle.since < _IDLE_SECONDS and idle.generation == generation
            if fresh and idle.connection.is_connected:
                return Lent(idle.connection, generation, reused=True)
            idle.connection.close()

    def connect(self, key_pair: KeyPair | None, deadline: float) -> Lent:
        """
        A new connection.

        Raises: ConfigError for a key pair that does not load; else as open_connection.
        Blocks: until the deadline (monotonic) at most.
        """
        context, generation = (None, 0) if self._contexts is None else self._contexts.current(key_pair)
        connection = new_connection(self._route, context)
        try:
            open_connection(connection, self._route, deadline)
        except BaseException:
            connection.close()
            raise
        return Lent(connection, generation, reused=False)

    def give_back(self, lent: Lent) -> None:
        """Keep a connection whose answer has been read to its end."""
        now = time.monotonic()
        with self._lock:
            self._idle.append(_Idle(lent.connection, lent.generation, now))
            dropped = self._drop_locked(now)
        _close_all(dropped)

    def _drop_locked(self, now: float) -> list[_Idle]:
        keep = 0 if self._closed else _MAX_IDLE
        cut = max(0, len(self._idle) - keep)
        while cut < len(self._idle) and now - self._idle[cut].since >= _IDLE_SECONDS:
            cut += 1
        dropped = self._idle[:cut]
        del self._idle[:cut]
        return dropped

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle = self._idle.copy()
            self._idle.clear()
        _close_all(idle)

    def shown_certificate(self) -> Certificate | None:
        """The certificate that the server shows, for a message about it; None where it cannot be had."""
        server, deadline = self._route.server, time.monotonic() + _PROBE_SECONDS
        if self._route.proxy is not None:
            return None
        try:
            addresses = resolve(
                server.hostname or "", server.port or 443, deadline=deadline, spawn=self._route.spawn
            )
            return shown_certificate(connect(addresses, deadline=deadline), self._route.verified_name)
        except OSError:
            return None

    def _generation(self, key_pair: KeyPair | None) -> int:
        return 0 if self._contexts is None else self._contexts.current(key_pair)[1]


def _close_all(idle: list[_Idle]) -> None:
    for entry in idle:
        entry.connection.close()


class Lent(NamedTuple):
    """A connection in somebody's hands; reused means that the server may have given it up already."""

    connection: Connection
    generation: int
    reused: bool
