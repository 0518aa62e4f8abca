"""
How an aiohttp server accepts connections, so that no client can fill the log or starve the process.

In each round of its loop, asyncio accepts up to `backlog` connections. When file descriptors run out, it logs
a traceback for each attempt and schedules a retry of each a second later, so that the number of attempts
keeps growing. Here, a round therefore accepts only one connection, and one line per minute reports the
problem.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import ssl
from collections.abc import Callable
from math import inf
from socket import socket
from typing import Any, Final

from aiohttp import web
from aiohttp.http import HttpProcessingError

_BACKLOG: Final = 128
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_SECONDS_BETWEEN_LINES: Final = 60.0


async def accept(
    factory: Callable[[], asyncio.BaseProtocol],
    log: logging.Logger,
    listening: socket,
    *,
    tls: ssl.SSLContext | None = None,
) -> asyncio.Server:
    """
    Accept connections on a bound socket.

    Args: log is the server's logger, which from then on logs nothing about clients. Threads: runs on the
    thread of the loop, which serves nothing else.
    """
    log.addFilter(_is_ours)
    loop = asyncio.get_running_loop()
    address, port = listening.getsockname()[:2]
    loop.set_exception_handler(_Exhaustion(log, f"{address}:{port}").tell)
    server = await loop.create_server(factory, sock=listening, ssl=tls, backlog=1)
    # create_server has also set the length of the kernel's queue to 1, so set it again.
    listening.listen(_BACKLOG)
    return server


class _Exhaustion:
    """Logs that no connection can be accepted. State: when it may log again, on the loop's clock."""

    def __init__(self, log: logging.Logger, address: str) -> None:
        self._log = log
        self._address = address
        self._silent_until = -inf

    def tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error that asyncio has caught. asyncio tries to accept again after a second."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _EXHAUSTED:
            loop.default_exception_handler(context)
        elif loop.time() >= self._silent_until:
            self._silent_until = loop.time() + _SECONDS_BETWEEN_LINES
            said = "%s accepts no connection: %s. Close some, or raise the limit: ulimit -n 4096"
            self._log.warning(said, self._address, error.strerror)


def _is_ours(record: logging.LogRecord) -> bool:
    """Return whether a record is about the server, not about a client that sent bad bytes or disconnected."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, web.RequestPayloadError, ConnectionError))
