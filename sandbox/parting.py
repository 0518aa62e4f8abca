"""How open connections end with their server: an answer on its way may arrive, nobody is waited for long."""

from __future__ import annotations

import asyncio
from collections.abc import Container
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

GRACE_SECONDS: Final = 0.2
_PAUSE_SECONDS: Final = 0.01


async def part(server: web.Server, exchanges: Container[RequestHandler]) -> None:
    """
    Break the connections that are still busy after a grace.

    Args: exchanges has those with a request that is not answered, or was not sent to its end.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + GRACE_SECONDS
    while busy := _busy(server, exchanges):
        if loop.time() >= until:
            for transport in busy:
                transport.abort()
            return
        await asyncio.sleep(_PAUSE_SECONDS)


def _busy(server: web.Server, exchanges: Container[RequestHandler]) -> list[asyncio.Transport]:
    return [
        transport
        for connection in server.connections
        if (transport := connection.transport) is not None
        and (connection in exchanges or transport.get_write_buffer_size())
    ]
