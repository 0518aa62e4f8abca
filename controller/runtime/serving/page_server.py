"""
Serve a few pages: health, metrics, and the conversion webhook, which answers POSTs.

Connections cannot exhaust the process: silent ones are cut off. If too many are open, the one that has been
silent for longest is cut off, too. A web page in a browser on this machine can connect to a loopback address
if it makes its own host name point to that address (DNS rebinding). The server can therefore check the Host
header of requests.
"""

from __future__ import annotations

import errno
import math
import selectors
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from handloop.controller.runtime.serving.bind_address import LOOPBACK_NAMES, is_loopback
from handloop.controller.runtime.serving.connection_limit import ConnectionLimit
from handloop.controller.runtime.serving.listening import listen_error
from handloop.controller.runtime.serving.open_files import SpareDescriptor
from handloop.seams.logs import get_logger, in_words
from handloop.seams.threads import Joinable, outliving, spawn_thread

log = get_logger("health")

Page = Callable[[Mapping[str, list[str]]], tuple[int, str, bytes]]
"""
A page: query -> (status, content type, body). If a page's path ends in `/*`, its query has the rest of the
request's path as `*`. The query has the Accept headers, if there are any, as ACCEPT.
"""
ACCEPT: Final = "Accept"

Post = Callable[[bytes], tuple[int, str, bytes]]
"""Answers a request that has a body, such as JSON."""

Guard = Callable[[str, str], int]
"""Decides whether to allow a request: (path, Authorization header or "") -> 200, or a refusal's status."""

PASSED_ON: Final = "X-Handloop-Authorization"
"""An Authorization header for requests through the API server's proxy, which removes the original."""

_PRIVATE: Final = b"only with --metrics-auth, or from this machine: kubectl port-forward leads here\n"
WHY: Final = "/why"
"""The path of the page in reconciling/why_page.py. Servers need it before that module is imported."""

TEXT: Final = "text/plain; charset=utf-8"
MAX_CONNECTIONS: Final = 64
MAX_POSTING: Final = 1024
"""The connection limit if there are posts. An API server sends up to 600 at a time; cut-off ones fail."""
_REQUEST_TIMEOUT_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 120.0
"""How long a connection for posts may be idle between two posts. Go's clients close it after 90 s."""
_LARGEST_POST: Final = 64 * 1024 * 1024
"""The longest accepted post. An API server sends at most 1.5 MB per object, but any pod may send more."""
_MOST_DIGITS: Final = 12
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_EXHAUSTED_PAUSE_SECONDS: Final = 0.05


class PageServer:
    """
    Serves a few read-only pages, and answers POST requests.

    State: the constructor binds the socket, so that a used port is detected before anything starts.
    Threads: `<purpose>-server` accepts connections. Each connection has its own thread until it is closed.
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
        names: Collection[str] | None = None,
        posts: Mapping[str, Post] | None = None,
        private: Collection[str] = (),
    ) -> None:
        """
        Bind the port, without serving yet.

        Args: posts maps the paths that accept POST requests to the functions that answer them; if there are
        any, a connection can serve several requests. tls returns the TLS context for each new connection;
        None means plain HTTP. Without a guard, every request is allowed. names are the hosts that a request's
        Host header may contain, in lower case; None means any host. private are the pages that only clients
        on this machine may read if there is no guard.
        Raises: PortInUseError if another process uses the port; ListenError for an address that this machine
        does not have or may not use.
        """
        self._purpose = purpose
        self._thread: Joinable | None = None
        serves: dict[str, Any] = {
            "pages": dict(pages),
            "guard": guard and staticmethod(guard),
            "names": names,
            "posts": posts or {},
            "private": frozenset(private),
        }
        if posts:
            serves |= {
                "do_POST": _Handler.take_post,
                "protocol_version": "HTTP/1.1",
                "timeout": _IDLE_SECONDS,
            }
        most = MAX_POSTING if posts else MAX_CONNECTIONS
        handler = type("Handler", (_Handler,), serves)
        settings = {
            "tls": tls and staticmethod(tls),
            "connections": ConnectionLimit(most),
            # With the default of 5, the clients in a burst of connections would have to retransmit.
            "request_queue_size": most,
            "stopping": threading.Event(),
            "draining": threading.Event(),
            "spare": (spare := SpareDescriptor()),
            "address_family": socket.AF_INET6 if ":" in host else socket.AF_INET,
        }
        try:
            self._server = type("Server", (_Server,), settings)((host, port), handler)
        except OSError as error:
            spare.end()
            raise listen_error(error, host, port, purpose) from error

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Serve on a separate thread."""
        self._wake, woken = socket.socketpair()
        self._thread = spawn_thread(f"{self._purpose}-server", lambda: self._server.serve(woken))

    def drain(self, seconds: float) -> None:
        """
        Keep answering, and close each connection after its next response.

        The response announces this, so a client never sends a request on a connection that is being closed.
        Blocks: until all connections are closed, for at most the given seconds. Silent ones stay open.
        """
        self._server.draining.set()
        self._server.connections.wait_until_none(seconds)

    def stop(self) -> None:
        """End the thread and close the socket. Blocks: until POSTs are answered, for at most ten seconds."""
        if self._thread is not None:
            self._server.draining.set()
            self._server.stopping.set()
            self._wake.close()
            self._thread.join()
        self._server.server_close()
        self._server.connections.wait_until_idle(_REQUEST_TIMEOUT_SECONDS)
        self._server.spare.end()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    timeout = 0  # handle_request accepts the waiting connection, and does not block
    tls: Callable[[], ssl.SSLContext] | None = None
    connections: ConnectionLimit
    stopping: threading.Event
    draining: threading.Event
    spare: SpareDescriptor

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection. The TLS handshake may take a while, so the connection's thread performs it."""
        connection, address = self._accept()
        if self.tls is not None:
            try:
                connection = self.tls().wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
            except BaseException:
                connection.close()
                raise
        return connection, address

    def _accept(self) -> tuple[socket.socket, object]:
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in _EXHAUSTED:
                if self.spare.give_up():
                    with suppress(OSError):
                        return super().get_request()
                # The connection is still waiting. Without a pause, the next attempt would follow and fail
                # immediately.
                self.stopping.wait(_EXHAUSTED_PAUSE_SECONDS)
            raise

    def serve(self, woken: socket.socket) -> None:
        """
        Serve until stopping is set. The other end of woken is then closed, which wakes up this thread.

        serve_forever would check ten times a second whether to stop, which uses 0.1 % of a core.
        """
        with woken, selectors.DefaultSelector() as selector:
            selector.register(self, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while not self.stopping.is_set():
                selector.select()
                with outliving(log, "Could not accept a connection"):
                    self.handle_request()

    def process_request(self, request: Any, address: Any) -> None:
        """Answer on a separate thread."""
        self.connections.admit(request)
        super().process_request(request, address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that is done."""
        self.connections.leave(request)
        super().shutdown_request(request)
        self.spare.refill()

    def handle_error(self, _request: object, address: object) -> None:
        """Log an error only at the debug level, because most of them are caused by clients that leave."""
        log.debug("Connection failed", v=4, client=str(address), err=in_words(sys.exception()))


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection. A timeout cuts off slow or silent clients."""

    server: _Server
    pages: Mapping[str, Page] = {}
    guard: Guard | None = None
    names: Collection[str] | None = None
    posts: Mapping[str, Post] = {}
    private: Collection[str] = ()
    # Send the response as one packet. A second packet would wait until the first is acknowledged.
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = _REQUEST_TIMEOUT_SECONDS
    server_version = "handloop"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with a page, 404 if there is none, or 403 if the host or the client is not allowed."""
        url = urlsplit(self.path)
        if not self._answers_for(url.netloc or self.headers.get("Host", "")):
            self._answer(403, TEXT, b"this page is served only under loopback names: open http://127.0.0.1\n")
            return
        path, query = url.path.rstrip("/") or "/", parse_qs(url.query, keep_blank_values=True)
        if accepts := self.headers.get_all(ACCEPT):
            query[ACCEPT] = accepts
        page = self.pages.get(path)
        if page is None:
            folder, _, name = path.rpartition("/")
            query["*"] = [name]
            page = self.pages.get(f"{folder}/*")
        if page is None:
            self._answer(404, TEXT, b"404 page not found\n")
            return
        if self.guard is None and path in self.private and not self._is_local():
            self._answer(403, TEXT, _PRIVATE)
            return
        if self.guard is not None:
            token = self.headers.get("Authorization", "") or self.headers.get(PASSED_ON, "")
            status = self.guard(url.path, token)
            if status != HTTPStatus.OK:
                self._answer(status, TEXT, f"{HTTPStatus(status).phrase}\n".encode())
                return
        try:
            answer = page(query)
        except BaseException as error:
            log.exception("A page failed", page=path, err=in_words(error, repr))
            answer = 500, TEXT, b"the page failed: see the log\n"
        self._answer(*answer)

    do_HEAD = do_GET  # noqa: N815 - the name the library calls

    def handle_expect_100(self) -> bool:
        """Ask a waiting client to send its body now."""
        goes_on = super().handle_expect_100()
        self.wfile.flush()
        return goes_on

    def take_post(self) -> None:
        """Answer a post, with 411 if it has no length, or 413 if it is too long. Ignore a partial post."""
        post = self.posts.get(urlsplit(self.path).path)
        text = self.headers.get("Content-Length", "")
        # Longer numbers are slow to parse, or int() refuses them.
        length = int(text) if text.isdecimal() and len(text) < _MOST_DIGITS else math.inf
        if post is None or length > _LARGEST_POST:
            self.close_connection = True  # the body is not read
            status = 404 if post is None else 413 if text.isdecimal() else 411
            self._answer(status, TEXT, f"{HTTPStatus(status).phrase}\n".encode())
            return
        self.server.connections.heard(self.connection)
        body = self.rfile.read(int(length))
        if len(body) < length:
            self.close_connection = True
            return
        with self.server.connections.at_work():
            try:
                answer = post(body)
            except BaseException as error:
                log.exception("A post failed", page=self.path, err=in_words(error, repr))
                answer = 500, TEXT, b"the post failed: see the log\n"
            self.close_connection = self.close_connection or self.server.draining.is_set()
            self._answer(*answer)
            self.wfile.flush()

    def _is_local(self) -> bool:
        """
        Return whether the client is on this machine or in this pod, as with `kubectl port-forward`.

        The request must also name a loopback host, because a web page can make its own host name point to a
        forwarded port.
        """
        is_named = _host_in(self.headers.get("Host", "")) in LOOPBACK_NAMES
        return is_named and is_loopback(str(self.client_address[0]))

    def _answers_for(self, authority: str) -> bool:
        return self.names is None or _host_in(authority) in self.names

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log no request, because probes arrive every few seconds."""


def _host_in(authority: str) -> str:
    """Return the host of `host:port`, in lower case."""
    host, _, port = authority.lower().rpartition(":")
    return host if port.isdigit() else authority.lower()
