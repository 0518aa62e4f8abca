"""
Connections to one server, with TLS and through a proxy's tunnel. Idle connections are reused.

A connection is only a socket. urllib3's connections include a pool and a response reader, which use more CPU
time per watch event than decoding does. Importing them takes a tenth of the CPU time of a program's start.
"""

from __future__ import annotations

import http.client
import selectors
import ssl
import time
import weakref
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote

from handloop.client.auth.tls import KeyPair, TLSContexts, TLSOptions, build_context
from handloop.client.http.certificate import Certificate
from handloop.client.http.failures import shown_certificate
from handloop.client.http.sockets import DeadlineSocket, DeadlineSSLSocket, connect, resolve, with_deadline
from handloop.seams.locks import new_lock
from handloop.seams.threads import Spawn

# This is net/http's IdleConnTimeout in client-go. Servers and balancers drop idle connections a bit later.
_IDLE_SECONDS: Final = 90.0
_MAX_IDLE: Final = 32
_PROBE_SECONDS: Final = 5.0
_LOCK_RANK: Final = 97
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# select accepts no descriptor above 1023, so it is used only where poll does not exist, as on Windows.
_Selector: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Connection:
    """
    An open connection. arm() sets the time limits of its socket.

    generation is that of the TLS context with which the connection was opened. idle_since is the monotonic
    time at which the last response ended.
    """

    generation = 0
    idle_since = 0.0

    def __init__(self, sock: Any, host_header: str) -> None:
        self.sock = sock
        self.host_header = host_header

    def is_silent(self) -> bool:
        """Return True if nothing has arrived, neither data nor the end of the connection."""
        with _Selector() as selector:
            selector.register(self.sock, selectors.EVENT_READ)
            return not selector.select(0)

    def close(self) -> None:
        """Close the connection."""
        self.sock.close()


class Route(NamedTuple):
    """
    The route that connections take: directly to the server, or to a proxy first.

    resolved is called with the duration of each DNS resolution; see RequestMetrics.dns_resolution_duration.
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
    def host_name(self) -> str:
        """The server's name in HTTP's spelling."""
        name = _asked_name(self.server.hostname or "")
        return f"[{name}]" if ":" in name else name.encode("idna").decode()

    @property
    def host_header(self) -> str:
        """The Host header: the server's name, and its port unless that is the scheme's default."""
        port = _port(self.server)
        return self.host_name if port == _DEFAULT_PORTS[self.server.scheme] else f"{self.host_name}:{port}"

    def target(self, path: str) -> str:
        """Return the target in the request line. Through a proxy to an http server, it is the full URL."""
        if self.proxy is not None and self.server.scheme == "http":
            return f"http://{self.server.netloc}{path}"
        return path

    def headers(self) -> dict[str, str]:
        """Return the extra headers for a proxy that forwards requests, or {} without such a proxy."""
        return _proxy_headers(self.proxy) if self.proxy is not None and self.server.scheme == "http" else {}


def open_connection(route: Route, context: Any, deadline: float) -> Connection:
    """
    Open a connection, and complete the TLS handshake with an https server.

    If there is a proxy, an https server is reached through a tunnel. TLS to a proxy trusts the system's CAs.

    Args: context is the SSLContext for an https server, otherwise None.
    Raises: OSError (including ssl.SSLError, socket.gaierror, TimeoutError), http.client.HTTPException.
    Blocks: at most until the deadline (monotonic).
    """
    sock: Any = _connected(route, deadline)
    try:
        if route.server.scheme == "https":
            if route.proxy is not None:
                sock = _tunnelled(sock, route, route.proxy, context)
            sock = _secured(sock, context, _asked_name(route.verified_name))
        elif route.proxy is not None and route.proxy.scheme == "https":
            sock = _secured(sock, build_context(TLSOptions()), _asked_name(route.proxy.hostname or ""))
    except BaseException:
        sock.close()
        raise
    return Connection(sock, route.host_header)


def _connected(route: Route, deadline: float) -> DeadlineSocket:
    """Return a socket that is connected to the first hop."""
    first_hop = route.proxy or route.server
    host = _host(first_hop)
    started_at = time.monotonic()
    addresses = resolve(host, _port(first_hop), deadline=deadline, spawn=route.spawn)
    route.resolved(host=host, seconds=time.monotonic() - started_at)
    sock = with_deadline(connect(addresses, deadline=deadline))
    sock.arm(deadline=deadline)
    return sock


def _tunnelled(sock: Any, route: Route, proxy: SplitResult, context: ssl.SSLContext) -> Any:
    """
    Return the socket once the proxy has opened a tunnel.

    Raises: OSError that contains `Tunnel connection failed` if the proxy refuses; HTTPException if its
    response is invalid.
    """
    if proxy.scheme == "https":
        insecure = context.verify_mode == ssl.CERT_NONE
        own = build_context(TLSOptions(insecure_skip_verify=insecure))
        sock = own.wrap_socket(sock, server_hostname=_asked_name(proxy.hostname or ""))
    try:
        _ask_for_tunnel(sock, route, proxy)
    except BaseException:
        sock.close()
        raise
    return sock


def _ask_for_tunnel(sock: Any, route: Route, proxy: SplitResult) -> None:
    name = route.host_name
    target = f"{name}:{_port(route.server)}"
    fields = {"Host": target, **_proxy_headers(proxy)}
    lines = [f"CONNECT {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
    with http.client.HTTPResponse(sock, method="CONNECT") as answer:
        answer.begin()
        if answer.status != http.client.OK:
            raise OSError(f"Tunnel connection failed: {answer.status} {answer.reason}")


def _secured(sock: Any, context: ssl.SSLContext, name: str) -> Any:
    """Return the socket with TLS to the server."""
    if isinstance(sock, ssl.SSLSocket):
        # The ssl module cannot run TLS inside TLS. Import this only here, because few users have such a
        # proxy.
        from urllib3.util.ssltransport import SSLTransport  # noqa: PLC0415

        return SSLTransport(sock, context, name)
    sock.settimeout(sock.left())  # the handshake uses this timeout, and a proxy may have taken some of it
    context.sslsocket_class = DeadlineSSLSocket
    return context.wrap_socket(sock, server_hostname=name)


def _asked_name(host: str) -> str:
    """Return a host as certificates spell it: a name without a final dot, an address without its zone."""
    return host.partition("%")[0] if ":" in host else host.rstrip(".")


def _host(url: SplitResult) -> str:
    """Return the host to connect to. A URL has the zone of an address as %25eth0."""
    host = url.hostname or ""
    return unquote(host) if ":" in host else host


def _port(url: SplitResult) -> int:
    return url.port or _DEFAULT_PORTS[url.scheme]


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(pair).decode()}"}


class Connections:
    """
    Lends connections, each to one thread at a time.

    State: _idle is sorted by last use. The most recently used connection is lent first, so that surplus
    connections expire. Once _closed is set, returned connections are closed.
    Threads: any thread can use this object. Connections are opened and closed without holding the lock.
    """

    def __init__(self, route: Route, contexts: TLSContexts | None) -> None:
        """Args: contexts is None for a plain http server."""
        self._route = route
        self._contexts = contexts
        self._lock = new_lock("Connections._lock", _LOCK_RANK)
        self._idle: list[Connection] = []
        self._closed = False
        # If a transport is never closed, this closes its idle connections when it is garbage-collected.
        weakref.finalize(self, _close_all, self._idle)

    def take_idle(self, key_pair: KeyPair | None) -> Connection | None:
        """Return an idle connection that is still open, or None."""
        _, generation = self._context(key_pair)
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            fresh = time.monotonic() - connection.idle_since < _IDLE_SECONDS
            if fresh and connection.generation == generation and connection.is_silent():
                return connection
            connection.close()

    def connect(self, key_pair: KeyPair | None, deadline: float) -> Connection:
        """
        Return a new connection.

        Raises: ConfigError for a key pair that does not load; otherwise the same errors as open_connection.
        Blocks: at most until the deadline (monotonic).
        """
        context, generation = self._context(key_pair)
        connection = open_connection(self._route, context, deadline)
        connection.generation = generation
        return connection

    def give_back(self, connection: Connection) -> None:
        """Return a connection to the pool after its response has been read to the end."""
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
        """Close idle connections. Connections in use are closed when they are returned."""
        with self._lock:
            self._closed = True
            idle = self._idle.copy()
            self._idle.clear()
        _close_all(idle)

    def shown_certificate(self) -> Certificate | None:
        """Return the server's certificate, so that a message can show it, or None if it is not available."""
        server, deadline = self._route.server, time.monotonic() + _PROBE_SECONDS
        if self._route.proxy is not None:
            return None
        try:
            addresses = resolve(_host(server), _port(server), deadline=deadline, spawn=self._route.spawn)
            return shown_certificate(connect(addresses, deadline=deadline), self._route.verified_name)
        except OSError:
            return None

    def _context(self, key_pair: KeyPair | None) -> tuple[ssl.SSLContext | None, int]:
        """Return the TLS context and its generation."""
        return (None, 0) if self._contexts is None else self._contexts.current(key_pair)


def _close_all(connections: list[Connection]) -> None:
    for connection in connections:
        connection.close()
