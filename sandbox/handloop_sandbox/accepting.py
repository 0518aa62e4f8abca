"""
Accepts connections for an aiohttp server so that no client can fill the log or starve the process.

By default, asyncio accepts up to `backlog` connections in each iteration of its loop. When file descriptors
run out, it logs a traceback for each failed attempt and retries each of them a second later, so the number
of attempts keeps growing. Therefore, this module accepts one connection per iteration, and reports the
problem once a minute.
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

    Args: log is the server's logger; from now on, errors that clients cause are not logged.
    Threads: runs on the event loop's thread. The loop must run only this server, because its exception
    handler is replaced.
    """
    log.addFilter(_is_ours)
    loop = asyncio.get_running_loop()
    address, port = listening.getsockname()[:2]
    loop.set_exception_handler(_Exhaustion(log, f"{address}:{port}").tell)
    server = await loop.create_server(factory, sock=listening, ssl=tls, backlog=1)
    # create_server also sets the length of the kernel's queue to 1. Make it longer again.
    listening.listen(_BACKLOG)
    return server


class _Exhaustion:
    """
    Logs that the server cannot accept connections.

    State: _silent_until is the loop time before which nothing more is logged.
    """

    def __init__(self, log: logging.Logger, address: str) -> None:
        self._log = log
        self._address = address
        self._silent_until = -inf

    def tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error that asyncio caught. After a second, asyncio tries to accept again."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _EXHAUSTED:
            loop.default_exception_handler(context)
        elif loop.time() >= self._silent_until:
            self._silent_until = loop.time() + _SECONDS_BETWEEN_LINES
            said = "%s cannot accept connections: %s. Close some of them, or raise the limit: ulimit -n 4096"
            self._log.warning(said, self._address, error.strerror)


def _is_ours(record: logging.LogRecord) -> bool:
    """Return whether a log record is about the server, not about a client's bad input or disconnection."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, web.RequestPayloadError, ConnectionError))
