"""
A load generator for HTTP/1.1. It sends raw requests over open connections, and awaits each response in turn.

All requests are encoded beforehand, and responses are not decoded, so that only the server is measured. It
runs on one thread, with or without TLS. If the server is faster than the generator, use the server's CPU
time.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from servers import Server

_HEAD_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
P = TypeVar("P", bound=asyncio.Protocol)
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(slots=True)
class Lap:
    """The duration of a batch of requests. Times are of the monotonic clock, in the order of the requests."""

    seconds: float = 0.0
    sent: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


class _Requests(asyncio.Protocol):
    """Sends the requests of a shared iterator one after the other. done is set after the last one."""

    def __init__(self, requests: Iterator[bytes], lap: Lap, *, keep: bool) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._lap = lap
        self._keep = keep
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._expected: int | None = None
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport. start() sends the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the waiting thread."""
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def start(self) -> None:
        """Send the next request."""
        assert self._transport is not None
        request = next(self._requests, None)
        if request is None:
            self.done.set_result(None)
            return
        self._parts, self._size, self._expected = [], 0, None
        self._sent_at = time.perf_counter()
        self._lap.sent.append(self._sent_at)
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Send the next request when the response is complete."""
        self._parts.append(data)
        self._size += len(data)
        if self._expected is None and not self._read_head():
            return
        if self._expected == -1:
            tail = data if len(data) >= len(_LAST_CHUNK) else b"".join(self._parts[-8:])
            if not tail.endswith(_LAST_CHUNK):
                return
        elif self._size < (self._expected or 0):
            return
        self._finish()

    def _read_head(self) -> bool:
        head, found, _ = b"".join(self._parts).partition(_HEAD_END)
        if not found:
            return False
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(b"".join(self._parts).decode(errors="replace"))
        length = _LENGTH.search(head)
        self._expected = -1 if length is None else len(head) + len(_HEAD_END) + int(length[1])
        return True

    def _finish(self) -> None:
        self._lap.latencies.append(time.perf_counter() - self._sent_at)
        if self._keep:
            content = b"".join(self._parts).partition(_HEAD_END)[2]
            self._lap.bodies.append(content if self._expected != -1 else _unchunked(content))
        self.start()


class _Watch(asyncio.Protocol):
    """One watch: notes when each line arrived."""

    def __init__(self, request: bytes, wanted: int) -> None:
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        self.reached: asyncio.Future[None] = loop.create_future()
        self.arrivals: list[float] = []
        self._wanted = wanted
        self._transport: asyncio.Transport | None = None
        self._request = request
        self._buffer = b""
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the waiting thread."""
        for future in (self.opened, self.reached):
            if not future.done():
                future.set_exception(exc or ConnectionError("the server closed the watch"))

    def data_received(self, data: bytes) -> None:
        """Count the lines."""
        now = time.perf_counter()
        if not self.opened.done():
            head, found, data = (self._buffer + data).partition(_HEAD_END)
            if not found:
                self._buffer = head
                return
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError((head + data).decode(errors="replace"))
            self._buffer = b""
            self.opened.set_result(None)
        lines = self._lines(data)
        self.arrivals += [now] * lines
        if len(self.arrivals) >= self._wanted and not self.reached.done():
            self.reached.set_result(None)

    def _lines(self, data: bytes) -> int:
        """Return the number of lines that end in this block, without the chunks' framing."""
        data = self._buffer + data if self._buffer else data
        position = lines = 0
        while position < len(data):
            if self._left:
                end = min(position + self._left, len(data))
                # the last two of the remaining bytes are the chunk's own line end
                lines += data.count(b"\n", position, max(position, min(end, position + self._left - 2)))
                self._left -= end - position
                position = end
                continue
            end = data.find(b"\r\n", position)
            if end < 0:
                break
            self._left = int(data[position:end], 16) + 2
            position = end + 2
        self._buffer = data[position:]
        return lines


class Watches:
    """Many watches of one path."""

    def __init__(self, server: Server, path: str) -> None:
        self._server = server
        self._path = path
        self._open: list[_Watch] = []

    async def open(self, count: int, lines: int) -> asyncio.Future[list[None]]:
        """
        Open this number of watches, and wait until all response heads have arrived.

        Returns: a future that is done when each watch has received this many lines.
        """
        request = self._server.request("GET", self._path)
        self._open = [await _connect(self._server, lambda: _Watch(request, lines)) for _ in range(count)]
        await asyncio.gather(*(watch.opened for watch in self._open))
        return asyncio.gather(*(watch.reached for watch in self._open))

    def close(self) -> list[list[float]]:
        """Close every connection. Returns: the times at which the lines arrived, by watch."""
        for watch in self._open:
            watch.close()
        return [watch.arrivals for watch in self._open]


async def send(server: Server, requests: Sequence[bytes], *, connections: int = 4, keep: bool = False) -> Lap:
    """Send the requests over some connections, which are opened before the measurement."""
    lap = Lap()
    pending = iter(requests)
    senders = [
        await _connect(server, lambda: _Requests(pending, lap, keep=keep))
        for _ in range(min(connections, len(requests)))
    ]
    started = time.perf_counter()
    for sender in senders:
        sender.start()
    await asyncio.gather(*(sender.done for sender in senders))
    lap.seconds = time.perf_counter() - started
    for sender in senders:
        sender.close()
    return lap


async def _connect(server: Server, make: Callable[[], P]) -> P:
    host, port = server.address
    _, protocol = await asyncio.get_running_loop().create_connection(
        make, host, port, ssl=server.tls, server_hostname=host if server.tls else None
    )
    return protocol


def _unchunked(content: bytes) -> bytes:
    parts: list[bytes] = []
    position = 0
    while True:
        end = content.index(b"\r\n", position)
        size = int(content[position:end], 16)
        if not size:
            return b"".join(parts)
        parts.append(content[end + 2 : end + 2 + size])
        position = end + size + 4
