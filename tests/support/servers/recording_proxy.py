"""
A proxy between one program and its API server: it notes every write with the version the server gave it.

Resource versions are the server's own order: what several proxies noted, put together, is its history.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import yaml

from handloop.client.errors import TransportError
from handloop.client.transport import Transport
from support.doubles.held_watches import HeldWatches

_DROPPED = ("host", "content-length", "authorization", "connection", "accept-encoding")
_EVENTS = re.compile(r"/events(/[^/]+)?$")
_LEASES = re.compile(r"/leases(/[^/]+)?$")


class Write(NamedTuple):
    """
    A write that the server took.

    version is its place in the server's order; began_at as time.monotonic() counts; holder is what it wrote
    into a lease, None for anything else.
    """

    who: str
    version: int
    method: str
    path: str
    began_at: float
    holder: str | None


class RecordingProxy:
    """
    Hands requests on to a transport.

    State, under _lock: _writes so far, without events and reviews; _reads, how often each path. transport may
    hold watches back. flowing: while it is clear, requests for leases wait.
    Threads: one per connection.
    """

    def __init__(self, who: str, transport: Transport, *, handler: type[ProxyHandler] | None = None) -> None:
        self.who = who
        self.transport = HeldWatches(transport)
        self.flowing = threading.Event()
        self.flowing.set()
        self._lock = threading.Lock()
        self._writes: list[Write] = []
        self._reads: Counter[str] = Counter()
        serving = type("Handler", (handler or ProxyHandler,), {"proxy": self})
        self._server = _Server(("127.0.0.1", 0), serving)
        self._serve()

    def _serve(self) -> None:
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name=f"proxy-{self.who}"
        )
        self._thread.start()

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that leads here."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": url}}],
            "users": [{"name": "proxy", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
            "current-context": "proxy",
        }
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path

    @property
    def writes(self) -> list[Write]:
        """What the server has taken so far."""
        with self._lock:
            return list(self._writes)

    def created(self, plural: str) -> int:
        """How many objects of a collection the server has made for it."""
        return sum(write.method == "POST" and write.path.endswith(f"/{plural}") for write in self.writes)

    def reads(self, path: str) -> int:
        """How often a path was read and not watched."""
        with self._lock:
            return self._reads[path]

    def note_read(self, path: str) -> None:
        """A path is read."""
        with self._lock:
            self._reads[path] += 1

    def note(self, method: str, path: str, began_at: float, body: bytes) -> None:
        """The server has taken a write."""
        if _EVENTS.search(path) or "reviews" in path:
            return
        stored: dict[str, Any] = json.loads(body)
        holder = stored["spec"].get("holderIdentity", "") if _LEASES.search(path) else None
        version = int(stored["metadata"]["resourceVersion"])
        with self._lock:
            self._writes.append(Write(self.who, version, method, path, began_at, holder))

    def close(self) -> None:
        """Serve no more; requests under way end with their connections."""
        self.flowing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.over.set()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.over = threading.Event()

    def handle_error(self, *_: Any) -> None:
        """A program that was killed leaves broken connections."""


class ProxyHandler(BaseHTTPRequestHandler):
    """One connection of a program."""

    proxy: RecordingProxy
    server: _Server
    protocol_version = "HTTP/1.1"
    # so that a thread that waits for a next request sees that all is over
    timeout = 2.0

    def do_GET(self) -> None:
        self._hand_on()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names the library calls

    def _hand_on(self) -> None:
        url = urlsplit(self.path)
        began_at = time.monotonic()
        if _LEASES.search(url.path):
            while not self.proxy.flowing.wait(0.1) and not self.server.over.is_set():
                pass
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _DROPPED}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        if "watch" in query:
            self._stream(url.path, query, headers)
            return
        if self.command == "GET":
            self.proxy.note_read(url.path)
        answer = self.proxy.transport.request(self.command, url.path, query=query, headers=headers, body=body)
        if self.command != "GET" and answer.status < 300:
            self.proxy.note(self.command, url.path, began_at, answer.body)
        self.send_response(answer.status)
        for name in ("Content-Type", "Retry-After"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _stream(self, path: str, query: dict[str, str], headers: dict[str, str]) -> None:
        with closing(self.proxy.transport.stream("GET", path, query=query, headers=headers)) as stream:
            self.send_response(stream.status)
            self.send_header("Content-Type", stream.headers.get("Content-Type", "application/json"))
            self.send_header("Connection", "close")
            self.end_headers()
            ender = threading.Thread(target=self._close_at_end, args=(stream,), daemon=True)
            ender.start()
            with suppress(TransportError, OSError):
                while block := stream.read_block():
                    self.wfile.write(block)
        self.close_connection = True
        self.ended.set()
        ender.join()

    def setup(self) -> None:
        super().setup()
        self.ended = threading.Event()

    def _close_at_end(self, stream: Any) -> None:
        """Whoever reads a quiet stream sees nothing else."""
        while not self.server.over.wait(0.1) and not self.ended.is_set():
            pass
        stream.close()

    def log_message(self, *_: object) -> None:
        """The test has its own words."""


@contextmanager
def recording(who: str, transport: Transport) -> Iterator[RecordingProxy]:
    """A proxy for as long as the context lasts."""
    proxy = RecordingProxy(who, transport)
    try:
        yield proxy
    finally:
        proxy.close()


def writes_without_the_lease(proxies: Iterable[RecordingProxy]) -> list[Write]:
    """The writes that the server took from a replica that did not hold the lease at that point."""
    history = sorted((write for proxy in proxies for write in proxy.writes), key=lambda write: write.version)
    holder = ""
    wrong = []
    for write in history:
        if write.holder is not None:
            holder = write.who if write.holder else ""
        elif write.who != holder:
            wrong.append(write)
    return wrong
