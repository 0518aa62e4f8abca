"""What carries the lines of one open watch to its socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

from aiohttp.abc import AbstractStreamWriter

from handloop.sandbox.faults.outlet import Outlet

_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: on, no time; closing then sends RST
_FULL_BYTES: Final = 256 * 1024  # more than a transport takes without pausing


class WatchPump:
    """
    One open watch and its socket.

    State: over says that the stream is; halted is set then, and while the watcher is paused because the
    client has so much to read that it gets no more.
    """

    __slots__ = ("chunked", "halted", "over", "transport", "watcher")

    def __init__(self, watcher: Outlet, transport: asyncio.Transport, *, chunked: bool = True) -> None:
        """Args: without chunks, which HTTP/1.0 does not know, the end of the connection ends the stream."""
        self.watcher = watcher
        self.transport = transport
        self.chunked = chunked
        self.over = False
        self.halted = asyncio.Event()

    def send(self, lines: list[bytes]) -> None:
        """Write lines, as one chunk where there are chunks."""
        if self.transport.is_closing():
            self.finish()
            return
        if lines:
            content = b"".join(lines)
            self.transport.write(b"%x\r\n%b\r\n" % (len(content), content) if self.chunked else content)
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
        """Wait until the stream is over, or the client has read what made it full."""
        await self.halted.wait()
        if not self.over:
            await writer.drain()
            self.watcher.paused = False
            self.halted.clear()


def break_connection(transport: asyncio.Transport, *, reset: bool) -> None:
    """Close a connection in the middle: what was written still goes out, unless it is reset."""
    if not reset:
        transport.close()
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
