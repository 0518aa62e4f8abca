"""
A loopback server that answers with exactly the test's bytes, and breaks off where the test wants.

A script is a function of one connection (`Peer`); connection i gets script i, later ones the last.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

DEADLINE_SECONDS: Final = 20.0


class Received(NamedTuple):
    """One request as it arrived; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class HangupError(Exception):
    """The client closed the connection."""


class Peer:
    """The server's end of one connection. Used by its script's thread."""

    def __init__(self, sock: socket.socket, server: WireServer) -> None:
        self._sock = sock
        self._server = server
        self._buffer = b""

    def receive(self) -> Received:
        """The next request; raises HangupError without one."""
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            self._fill()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        received = Received(method, target, headers, body)
        self._server.record(received)
        return received

    def send(self, data: bytes) -> None:
        """Send all of data."""
        self._sock.sendall(data)

    def send_bytewise(self, data: bytes) -> None:
        """Send data in as many packets as it has bytes."""
        for index in range(len(data)):
            self._sock.sendall(data[index : index + 1])

    def finish(self) -> None:
        """End the sending side, a FIN, and wait for the client to go."""
        self._sock.shutdown(socket.SHUT_WR)
        self.wait_for_hangup()

    def reset(self) -> None:
        """End the connection with an RST."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    def wait_for_hangup(self) -> None:
        """Block until the client has closed the connection, or the server is closed."""
        try:
            while self._sock.recv(65_536):
                pass
        except OSError:
            pass

    def wrap(self, context: ssl.SSLContext) -> None:
        """Go on in TLS, as after a proxy's CONNECT."""
        self._sock = context.wrap_socket(self._sock, server_side=True)

    def close(self) -> None:
        """Close the connection, from any thread."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def dispose(self) -> None:
        """Close the descriptor, from the script's thread."""
        self._sock.close()

    def _fill(self) -> None:
        data = self._sock.recv(65_536)
        if not data:
            raise HangupError
        self._buffer += data


Script = Callable[[Peer], None]


class WireServer:
    """
    Listens while its `with` block runs.

    Fields: requests, everything it was asked; connections, how many there were; open, how many of them have a
    script that still runs, as one does that waits for the client.
    """

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self._scripts = scripts
        self._tls = tls
        self._changed = threading.Condition()
        self._peers: list[Peer] = []
        self._threads: list[threading.Thread] = []
        self.requests: list[Received] = []
        self.errors: list[BaseException] = []
        self.connections = self.open = 0
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._host = f"[{host}]" if ":" in host else host
        self._socket = socket.create_server((host, 0), family=family)
        self.port: int = self._socket.getsockname()[1]

    @property
    def url(self) -> str:
        """`scheme://host:port`."""
        return f"{'https' if self._tls else 'http'}://{self._host}:{self.port}"

    def record(self, request: Received) -> None:
        """Remember a request."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()

    def wait_for_requests(self, count: int) -> None:
        """Block until count requests have arrived."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, DEADLINE_SECONDS)

    def wait_for_open(self, count: int) -> None:
        """Block until so many connections are open: clients have closed the others."""
        with self._changed:
            found = self._changed.wait_for(lambda: self.open == count, DEADLINE_SECONDS)
            assert found, f"{self.open} connections are open, not {count}"

    def __enter__(self) -> Self:
        accepting = threading.Thread(target=self._accept, name="wire-accept", daemon=True)
        self._threads.append(accepting)
        accepting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_listening()
        with self._changed:
            peers, threads = list(self._peers), list(self._threads)
        for peer in peers:
            peer.close()
        for thread in threads:
            thread.join(DEADLINE_SECONDS)
        if error is None:
            assert not self.errors, self.errors

    def stop_listening(self) -> None:
        """Refuse connections from here on."""
        with contextlib.suppress(OSError):
            # wakes the accepting thread; closing alone would not
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            sock.settimeout(DEADLINE_SECONDS)
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock, script), name="wire-peer", daemon=True)
            with self._changed:
                self._threads.append(thread)
                self.open += 1
                # Wake those who wait for a count: the others may have closed before this one was accepted.
                self._changed.notify_all()
            thread.start()

    def _serve(self, sock: socket.socket, script: Script) -> None:
        with sock:
            peer = Peer(sock, self)
            with self._changed:
                self._peers.append(peer)
            try:
                if self._tls is not None:
                    peer.wrap(self._tls)
                script(peer)
            except (HangupError, OSError):
                pass  # the client went, or never shook hands
            except BaseException as error:
                self.errors.append(error)
            finally:
                peer.dispose()
                with self._changed:
                    self.open -= 1
                    self._changed.notify_all()


def response(
    body: bytes = b"{}",
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    length: int | None = None,
) -> bytes:
    """A whole answer with a Content-Length."""
    fields = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body) if length is None else length),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in (fields | dict(headers or {})).items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + body


CHUNKED_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
LAST_CHUNK: Final = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunked(parts: Sequence[bytes]) -> bytes:
    """A whole chunked answer."""
    return CHUNKED_HEAD + b"".join(chunk(part) for part in parts) + LAST_CHUNK


def answering(*answers: bytes) -> Script:
    """A script that answers one request after the other, then waits for the client to go."""

    def script(peer: Peer) -> None:
        for answer in answers:
            peer.receive()
            peer.send(answer)
        peer.wait_for_hangup()

    return script


def always(answer: bytes) -> Script:
    """A script that gives the same answer to every request."""

    def script(peer: Peer) -> None:
        while True:
            peer.receive()
            peer.send(answer)

    return script


def _ending(data: bytes, end: Callable[[Peer], None]) -> Script:
    def script(peer: Peer) -> None:
        peer.receive()
        peer.send(data)
        end(peer)

    return script


def closing_after(data: bytes) -> Script:
    """A script that answers with data and closes."""
    return _ending(data, Peer.finish)


def resetting_after(data: bytes) -> Script:
    """A script that answers with data and resets the connection."""
    return _ending(data, Peer.reset)


def silent_after(data: bytes) -> Script:
    """A script that answers with data and then is silent."""
    return _ending(data, Peer.wait_for_hangup)
