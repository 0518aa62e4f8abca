"""
Manages the open connections, open watches and delayed requests of the sandbox's HTTP server.

`Connections` closes all connections when the server stops. A `WatchPump` writes the lines of one open watch
to its socket. `HeldRequests` are requests that a fault delays until the clock reaches a time, or forever.
Threads: only the thread of the server's loop uses them.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_protocol import RequestHandler

from handloop_sandbox.faults.watch_output import WatchOutput
from handloop_sandbox.watch_answer import Framing

GRACE_SECONDS: Final = 0.2
_PAUSE_SECONDS: Final = 0.01
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER with zero seconds: closing sends RST
_FULL_BYTES: Final = 256 * 1024  # above the limit at which a transport pauses its writer


class Connections:
    """
    The connections of one server.

    State: exchanges holds the connections that have received a request and whose handler task still runs.
    """

    def __init__(self) -> None:
        self.exchanges: set[RequestHandler] = set()

    def heard(self, connection: RequestHandler, task: asyncio.Task[None]) -> None:
        """Record that a request's headers have arrived. task handles the connection's requests."""
        if connection not in self.exchanges:
            self.exchanges.add(connection)
            task.add_done_callback(lambda _: self.exchanges.discard(connection))

    async def part(self, server: web.Server) -> None:
        """
        Wait for pending answers to be sent. After GRACE_SECONDS, abort the connections that are still busy.

        Blocks: until no connection is busy, for at most GRACE_SECONDS.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + GRACE_SECONDS
        while busy := self._busy(server):
            if loop.time() >= until:
                for transport in busy:
                    transport.abort()
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    def _busy(self, server: web.Server) -> list[asyncio.Transport]:
        """Return the connections with an unanswered request or an answer that is not completely sent."""
        return [
            transport
            for connection in server.connections
            if (transport := connection.transport) is not None
            and (connection in self.exchanges or transport.get_write_buffer_size())
        ]


class HeldRequests:
    """
    Requests that are waiting because of a fault.

    State: _until maps each delayed request to the time at which it continues. _silent holds the requests
    that never get an answer.
    """

    def __init__(self) -> None:
        self._until: dict[asyncio.Future[None], float] = {}
        self._silent: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        return len(self._until) + len(self._silent)

    async def wait_until(self, at: float) -> None:
        """Wait until wake() is called with this time or a later one."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._until[waiting] = at
        try:
            await waiting
        finally:
            self._until.pop(waiting, None)

    async def wait_in_silence(self) -> None:
        """Wait until the server stops or the client disconnects."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._silent.add(waiting)
        try:
            await waiting
        finally:
            self._silent.discard(waiting)

    def wake(self, now: float) -> float | None:
        """Release the requests that are due. Returns: the time at which the next one is due, or None."""
        for waiting in [waiting for waiting, at in self._until.items() if at <= now]:
            del self._until[waiting]
            _settle(waiting)
        return min(self._until.values(), default=None)

    def release(self) -> None:
        """Release all requests."""
        for waiting in (*self._until, *self._silent):
            _settle(waiting)


def _settle(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class WatchPump:
    """
    One open watch and its socket.

    State: over is true once the stream has ended. halted is set if the stream has ended, or if the watcher is
    paused because the client reads too slowly.
    """

    __slots__ = ("_framing", "halted", "over", "transport", "watcher")

    def __init__(self, watcher: WatchOutput, transport: asyncio.Transport, framing: Framing) -> None:
        self.watcher = watcher
        self.transport = transport
        self._framing = framing
        self.over = False
        self.halted = asyncio.Event()

    def send(self, lines: list[bytes]) -> None:
        """Write lines to the socket, in the framing of the response (such as WebSocket messages)."""
        if self.transport.is_closing():
            self.finish()
            return
        if lines:
            self.transport.write(self._framing(lines))
        if self.watcher.ended:
            if self.watcher.broken:
                break_connection(self.transport, reset=self.watcher.broken == "reset")
            self.finish()
        elif self.transport.get_write_buffer_size() > _FULL_BYTES:
            self.watcher.paused = True
            self.halted.set()

    def finish(self) -> None:
        """Let the handler end the response."""
        self.over = True
        self.halted.set()

    async def halt(self, writer: AbstractStreamWriter) -> None:
        """Wait until the stream ends or is paused. If it is paused, wait until the client has caught up."""
        await self.halted.wait()
        if not self.over:
            await writer.drain()
            self.watcher.paused = False
            self.halted.clear()


def break_connection(transport: asyncio.Transport, *, reset: bool) -> None:
    """Close a connection in the middle of an answer. If reset is true, discard unsent bytes."""
    if not reset:
        transport.close()
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
