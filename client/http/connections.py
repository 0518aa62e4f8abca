"""
Connections to one server: urllib3 makes them, with TLS and the proxy's tunnel; idle ones wait for a request.

urllib3's pool and its reading of answers are not used: they cost more per watch event than decoding it, and
do not show whether a failed request was sent.
"""

from __future__ import annotations

import socket
import ssl
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
from handloop.seams.locks import new_lock
from handloop.seams.threads import Spawn

# net/http's IdleConnTimeout as client-go sets it; servers and balancers drop idle connections a little later
_IDLE_SECONDS: Final = 90.0
_MAX_IDLE: Final = 32
_PROBE_SECONDS: Final = 5.0
_LOCK_RANK: Final = 97
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class _Timed:
    """
    Connects within a deadline. Mixed into urllib3's classes, whose `_dns_host` and `port` it uses.

    generation is that of the TLS context; idle_since is when the last answer ended (monotonic).
    """

    deadline: float = 0.0
    route: Route
    host_header: str
    generation: int
    idle_since: float
    _dns_host: str
    port: int

    def _new_conn(self) -> socket.socket:
        started_at = time.monotonic()
        addresses = resolve(self._dns_host, self.port, deadline=self.deadline, spawn=self.route.spawn)
        seconds = time.monotonic() - started_at
        self.route.resolved(host=self._dns_host, seconds=seconds)
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
    The target of connections: the server, or a proxy on the way to it.

    resolved is RequestMetrics.dns_resolution_duration, called with the seconds that a resolution took.
    """

    server: SplitResult
    proxy: SplitResult | None
    tls_server_name: str
    spawn: Spawn
    resolved: Callable[..., None]

    @property
    def verified_name(self) -> str:
        """The name that the server's certificate must have."""
        return self.tls_server_name or self.server.hostname or ""

    @property
    def host_header(self) -> str:
        """The Host header: the server, with its port unless the scheme implies it."""
        name = (self.server.hostname or "").rstrip(".")
        name = f"[{name.partition('%')[0]}]" if ":" in name else name.encode("idna").decode()
        port = _port(self.server)
        return name if port == _DEFAULT_PORTS[self.server.scheme] else f"{name}:{port}"

    def target(self, path: str) -> str:
        """The target in the request line; for a plain server behind a proxy, the full URL."""
        if self.proxy is not None and self.server.scheme == "http":
            return f"http://{self.server.netloc}{path}"
        return path

    def headers(self) -> dict[str, str]:
        """The headers for a proxy that forwards requests."""
        return _proxy_headers(self.proxy) if self.proxy is not None and self.server.scheme == "http" else {}


def open_connection(route: Route, context: Any, deadline: float) -> Connection:
    """
    A new connection: connected, through the proxy's tunnel if there is one, and after the handshake.

    Args: context is the SSLContext for an https server, else None.
    Raises: OSError (also ssl.SSLError, socket.gaierror, TimeoutError), http.client.HTTPException.
    Blocks: until the deadline (monotonic) at most.
    """
    connection = _new_connection(route, context)
    connection.route, connection.host_header, connection.deadline = route, route.host_header, deadline
    connection.timeout = max(0.001, deadline - time.monotonic())
    try:
        if route.proxy is not None and route.server.scheme == "https":
            connection.set_tunnel(
                route.server.hostname or "",
                _port(route.server),
                headers=_proxy_headers(route.proxy),
                scheme=route.proxy.scheme,
            )
        connection.connect()
    except BaseException:
        connection.close()
        raise
    return connection


def _new_connection(route: Route, context: Any) -> Connection:
    first_hop = route.proxy or route.server
    host, port = first_hop.hostname or "", _port(first_hop)
    if route.server.scheme == "http":
        return PlainConnection(host, port)
    context.sslsocket_class = DeadlineSSLSocket
    return SecureConnection(
        host,
        port,
        ssl_context=context,
        server_hostname=route.tls_server_name or None,
        **_proxy_options(route.proxy),
    )


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
        self._idle: list[Connection] = []
        self._closed = False
        # idle connections of a transport that was never closed end with this object
        weakref.finalize(self, _close_all, self._idle)

    def take_idle(self, key_pair: KeyPair | None) -> Connection | None:
        """A connection that was used before and is still open, or None."""
        _, generation = self._context(key_pair)
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            fresh = time.monotonic() - connection.idle_since < _IDLE_SECONDS
            if fresh and connection.generation == generation and connection.is_connected:
                return connection
            connection.close()

    def connect(self, key_pair: KeyPair | None, deadline: float) -> Connection:
        """
        A new connection.

        Raises: ConfigError for a key pair that does not load; else as open_connection.
        Blocks: until the deadline (monotonic) at most.
        """
        context, generation = self._context(key_pair)
        connection = open_connection(self._route, context, deadline)
        connection.generation = generation
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection whose answer has been read to its end."""
        connection.idle_since = now = time.monotonic()
        with self._lock:
            self._idle.append(connection)
            dropped = self._drop_locked(now)
        _close_all(dropped)

    def _drop_locked(self, now: float) -> list[Connection]:
        keep = 0 if self._closed else _MAX_IDLE
        cut = max(0, len(self._idle) - keep)
        while cut < len(self._idle) and now - self._idle[cut].idle_since >= _IDLE_SECONDS:
            cut += 1
        dropped = self._idle[:cut]
        del self._idle[:cut]
        return dropped

    def close(self) -> None:
        """Close idle connections; lent ones are closed when they come back."""
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
                server.hostname or "", _port(server), deadline=deadline, spawn=self._route.spawn
            )
            return shown_certificate(connect(addresses, deadline=deadline), self._route.verified_name)
        except OSError:
            return None

    def _context(self, key_pair: KeyPair | None) -> tuple[ssl.SSLContext | None, int]:
        """The TLS context and its generation."""
        return (None, 0) if self._contexts is None else self._contexts.current(key_pair)


def _close_all(connections: list[Connection]) -> None:
    for connection in connections:
        connection.close()
