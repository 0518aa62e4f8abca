"""
The health and metrics endpoints: `/healthz`, `/readyz`, `/livez`, `/metrics`.

Threads: each server has one thread `<name>-server` and one short-lived thread per request; both only read
snapshots.
"""

from __future__ import annotations

import os
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

import structlog

from controller.runtime.port_owner import port_owner
from workqueue.spawn import Joinable, Spawn, spawn_thread

log = structlog.get_logger("health")


class Well(NamedTuple):
    """A good state that is worth a word, such as `standby, holder=pod-a`."""

    detail: str


Check = Callable[[], str | Well | None]
"""A health check: None or Well when well, else the reason in words."""

Page = Callable[[Mapping[str, list[str]]], tuple[int, str, bytes]]
"""A page: query -> (status, content type, body)."""

Guard = Callable[[str, str], int]
"""Who may see a page: (path, Authorization header or "") -> 200, or the status of the refusal."""

TEXT: Final = "text/plain; charset=utf-8"
_REQUEST_TIMEOUT_SECONDS: Final = 10.0


class ListenError(OSError):
    """An address cannot be listened on; reason says why, purpose what for."""

    def __init__(self, address: str, purpose: str, reason: str) -> None:
        super().__init__(f"cannot listen on {address} for {purpose}: {reason}")
        self.address = address
        self.purpose = purpose
        self.reason = reason


class PortInUseError(ListenError):
    """The address is taken; owner names the process where that can be known."""

    def __init__(self, address: str, purpose: str, owner: str = "") -> None:
        super().__init__(address, purpose, "address already in use")
        self.owner = owner


def listen_error(error: OSError, host: str, port: int, purpose: str) -> ListenError:
    """What to raise when `host:port` cannot be listened on because of error."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if error.errno in _IN_USE:
        return PortInUseError(address, purpose, port_owner(port))
    # asyncio puts the whole story into strerror
    words = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return ListenError(address, purpose, words.lower())


def health_page(checks: Mapping[str, Check]) -> Page:
    """Kubernetes' answer: `ok`, or 500 and a line per check; `?verbose` lists, `?exclude=NAME` skips one."""

    def page(query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        excluded = set(query.get("exclude", []))
        results = {name: check() for name, check in checks.items() if name not in excluded}
        healthy = not any(map(_is_bad, results.values()))
        if healthy and "verbose" not in query:
            return 200, TEXT, b"ok"
        lines = [_line(name, result) for name, result in results.items()]
        lines.append("healthz check passed" if healthy else "healthz check failed")
        return (200 if healthy else 500), TEXT, ("\n".join(lines) + "\n").encode()

    return page


def _is_bad(result: str | Well | None) -> bool:
    return bool(result) and not isinstance(result, Well)


def _line(name: str, result: str | Well | None) -> str:
    if isinstance(result, Well):
        return f"[+]{name}: {result.detail}"
    return f"[-]{name} failed: {result}" if result else f"[+]{name} ok"


class PageServer:
    """
    Serves a few read-only pages.

    State: the constructor binds the socket, so that a taken port is known before anything starts.
    """

    def __init__(
        self,
        host: str,
        port: int,
        pages: Mapping[str, Page],
        *,
        purpose: str,
        tls: Callable[[], ssl.SSLContext] | None = None,
        guard: Guard | None = None,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """
        Bind, without serving yet.

        Args: tls gives the context of each new connection, None = plain HTTP; guard None = everybody.
        Raises: PortInUseError; ListenError for an address that is not this machine's, or not for us.
        """
        self._purpose = purpose
        self._spawn = spawn
        self._thread: Joinable | None = None
        handler = type("Handler", (_Handler,), {"pages": dict(pages), "guard": guard and staticmethod(guard)})
        family = type("Server", (_V6Server if ":" in host else _Server,), {"tls": tls and staticmethod(tls)})
        try:
            self._server = family((host, port), handler)
        except OSError as error:
            raise listen_error(error, host, port, purpose) from error

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Serve from a thread of its own."""
        self._thread = self._spawn(
            f"{self._purpose}-server", lambda: self._server.serve_forever(poll_interval=0.1)
        )

    def stop(self) -> None:
        """End the thread and close the socket. Blocks until the thread has ended."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    tls: Callable[[], ssl.SSLContext] | None = None

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept; the handshake is left to the thread of the connection, which may be kept waiting."""
        connection, address = super().get_request()
        if self.tls is not None:
            connection = self.tls().wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, _request: object, address: object) -> None:
        """Whoever breaks a connection off, or speaks no TLS, is no news."""
        log.debug("Connection failed", v=4, client=str(address), err=str(sys.exception()))


class _V6Server(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """One request. Slow or silent clients are cut off, and request lines stay out of the log."""

    pages: Mapping[str, Page] = {}
    guard: Guard | None = None
    timeout = _REQUEST_TIMEOUT_SECONDS
    server_version = "handloop"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with a page, or 404."""
        url = urlsplit(self.path)
        page = self.pages.get(url.path.rstrip("/") or "/")
        if page is None:
            self._answer(404, TEXT, b"404 page not found\n")
            return
        if self.guard is not None:
            status = self.guard(url.path, self.headers.get("Authorization", ""))
            if status != HTTPStatus.OK:
                self._answer(status, TEXT, f"{HTTPStatus(status).phrase}\n".encode())
                return
        self._answer(*page(parse_qs(url.query, keep_blank_values=True)))

    do_HEAD = do_GET  # noqa: N815 - the name the library calls

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Probes every few seconds are no news."""


_IN_USE: Final = (98, 48, 10048)
"""EADDRINUSE on Linux, macOS and Windows."""


def stopped_check(stop: threading.Event) -> Callable[[], str | None]:
    """Not ready once a stop was asked for, so that no new traffic arrives."""
    return lambda: "shutting down" if stop.is_set() else None
