"""The way of one replica to its server, on which connections break and answers change as a plan says."""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from io import BytesIO
from random import Random
from typing import Any, Final

from handloop.client.transport import Transport
from soak.plan import Fault
from support.servers.recording_proxy import ProxyHandler, RecordingProxy

_OF_WRITES: Final = ("lost", "never-sent", "409")
_OF_ALL: Final = ("429", "500", "503", "504")
_REASONS: Final = {"409": "Conflict", "410": "Expired", "429": "TooManyRequests"}
_RESET: Final = Fault(0.0, 0, "reset")
_LINGER_0: Final = struct.pack("ii", 1, 0)


class FaultProxy(RecordingProxy):
    """
    Hands requests on, signed with `agent`, until a fault strikes them.

    State, under _lock: _until, when those that last end; _left, how many requests the others still strike;
    connections and watches, the open ones; silences, how long the replica endured each watch that had fallen
    silent. Threads: one per connection, and the plan's.
    """

    def __init__(self, number: int, transport: Transport, seed: int) -> None:
        self.agent = ""
        self.connections: set[socket.socket] = set()
        self.watches: set[StruckHandler] = set()
        self.silences: list[float] = []
        self._chance = Random(seed)
        self._until: dict[str, float] = {}
        self._left: Counter[str] = Counter()
        super().__init__(f"replica-{number}", transport, handler=StruckHandler)

    def note(self, *_: object) -> None:
        """The server's own log tells more."""

    def strike(self, fault: Fault) -> None:
        """Do what a fault says, or get ready for the requests that it is about."""
        with self._lock:
            if fault.seconds:
                self._until[fault.what] = time.monotonic() + fault.seconds
            self._left[fault.what] += fault.count
            watches, connections = list(self.watches), list(self.connections)
        if fault.what == "reset":
            for connection in connections:
                break_off(connection)
        for watch in watches:
            watch.strike(fault.what)

    def struck(self, method: str, *, is_watch: bool) -> str:
        """What strikes a request, "" = nothing."""
        with self._lock:
            lasting = [what for what, until in self._until.items() if until > time.monotonic()]
            if lasting:
                return lasting[0]
            able = (*_OF_ALL, *(("410",) if is_watch else ()), *(_OF_WRITES if method != "GET" else ()))
            what = next((one for one in able if self._left[one] > 0), "")
            if what:
                self._left[what] -= 1
            return what

    def delay(self) -> float:
        """How long a slow request waits, in seconds."""
        with self._lock:
            return self._chance.uniform(0.05, 1.0)

    def go_dark(self) -> None:
        """Refuse every connection, as if no server was there."""
        self._server.shutdown()
        self._thread.join()
        self._server.socket.close()
        self._server.socket = socket.socket()
        self._server.server_bind()  # the port stays ours; nobody listens
        self.strike(_RESET)

    def serve_again(self) -> None:
        """End the darkness."""
        self._server.server_activate()
        self._serve()

    def close(self) -> None:
        """Break off what is open, and serve no more."""
        self.strike(_RESET)
        super().close()


class StruckHandler(ProxyHandler):
    """One connection."""

    proxy: FaultProxy
    timeout = 60.0

    def setup(self) -> None:
        super().setup()
        self._is_silent = False
        with self.proxy._lock:
            self.proxy.connections.add(self.connection)

    def finish(self) -> None:
        with self.proxy._lock:
            self.proxy.connections.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def _hand_on(self) -> None:
        agent = self.headers["User-Agent"]
        del self.headers["User-Agent"]
        self.headers["User-Agent"] = f"{agent} {self.proxy.agent}"
        is_watch = "watch=" in self.path
        what = self.proxy.struck(self.command, is_watch=is_watch)
        if what in ("broken", "never-sent"):
            break_off(self.connection)
        elif what.isdecimal():
            self._refuse(what)
        else:
            if what == "slow":
                self.server.over.wait(self.proxy.delay())
            if what == "lost":
                self.wfile: Any = BytesIO()
            super()._hand_on()
            if what == "lost":
                break_off(self.connection)
        self.close_connection |= what in ("broken", "never-sent", "lost")

    def _refuse(self, code: str) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = _status(code)
        self.send_response(int(code))
        self.send_header("Content-Type", "application/json")
        if code == "429":
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, path: str, query: dict[str, str], headers: dict[str, str]) -> None:
        real, self.wfile = self.wfile, self  # so that nothing is written to a watch that is silent
        self._real = real
        with self.proxy._lock:
            self.proxy.watches.add(self)
        try:
            super()._stream(path, query, headers)
        finally:
            self.wfile = real
            with self.proxy._lock:
                self.proxy.watches.discard(self)

    def write(self, block: bytes) -> None:
        """As a file's."""
        if not self._is_silent:
            self._real.write(block)

    def flush(self) -> None:
        """As a file's."""

    def strike(self, what: str) -> None:
        """Do to this watch what a fault says, if it is about watches. Threads: the plan's."""
        if what == "cut":
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        elif what in ("garbled", "expired"):
            line = b'{"type":' if what == "garbled" else b'{"type":"ERROR","object":' + _status("410") + b"}"
            with suppress(OSError):
                self.write(line + b"\n")
        elif what == "silent" and not self._is_silent:
            self._is_silent = True
            threading.Thread(target=self._endure, args=(time.monotonic(),), name="silence").start()

    def _endure(self, since: float) -> None:
        """Wait until the replica gives the silent watch up."""
        with suppress(OSError, ValueError):
            while not self.server.over.is_set() and not self.ended.is_set():
                if select.select([self.connection], [], [], 0.5)[0]:
                    with self.proxy._lock:
                        self.proxy.silences.append(time.monotonic() - since)
                    break
        self.ended.set()


def break_off(connection: socket.socket) -> None:
    """Reset a connection."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
        connection.shutdown(socket.SHUT_RDWR)


def _status(code: str) -> bytes:
    reason = _REASONS.get(code, "InternalError")
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": int(code)}
    return json.dumps({**status, "message": f"the soak answers with {code}"}).encode()
