"""A proxy between one replica and its server, which breaks connections and changes answers as planned."""

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
    Forwards requests, with `agent` added to their User-Agent, unless a fault strikes them.

    State, under _lock: _until, the end of each fault that lasts for a time; _left, how many requests each
    other fault still strikes; connections and watches, the open ones; silences, how many seconds the replica
    waited before it closed each silent watch. Threads: one per connection; strike() runs on the plan's
    thread.
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
        """Do nothing, because the server's own log contains more."""

    def strike(self, fault: Fault) -> None:
        """Apply a fault to the open connections and watches, or prepare it for the requests that follow."""
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
        """Return the fault that strikes a request, or ""."""
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
        """Return how many seconds a slow request waits."""
        with self._lock:
            return self._chance.uniform(0.05, 1.0)

    def go_dark(self) -> None:
        """Refuse every connection, as if the server did not run."""
        self._server.shutdown()
        self._thread.join()
        self._server.socket.close()
        self._server.socket = socket.socket()
        self._server.server_bind()  # reserve the port without listening
        self.strike(_RESET)

    def serve_again(self) -> None:
        """Accept connections again after go_dark()."""
        self._server.server_activate()
        self._serve()

    def close(self) -> None:
        """Reset the open connections, and stop serving."""
        self.strike(_RESET)
        super().close()


class StruckHandler(ProxyHandler):
    """Handles one connection of a FaultProxy."""

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
        real, self.wfile = self.wfile, self  # write() drops the events of a silent watch
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
        """Write to the watch, unless it is silent."""
        if not self._is_silent:
            self._real.write(block)

    def flush(self) -> None:
        """Do nothing, like an unbuffered file."""

    def strike(self, what: str) -> None:
        """Apply a fault to this watch, if it is one for watches. Threads: runs on the plan's thread."""
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
        """Wait until the replica closes the silent watch, and record how long it took."""
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
