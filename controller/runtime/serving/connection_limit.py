"""How many connections a server has open at once."""

from __future__ import annotations

import socket
from contextlib import suppress

from handloop.workqueue.locks import new_lock


class ConnectionLimit:
    """
    Lets every new connection in; where there are too many, the oldest is cut off for it.

    So whoever holds connections open keeps no probe and no scrape out.

    State, under _lock: _open, oldest first. Threads: the server's admits, those of the connections leave.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = new_lock("ConnectionLimit._lock", 95)
        self._open: dict[socket.socket, None] = {}

    def admit(self, connection: socket.socket) -> None:
        """A connection has been accepted."""
        with self._lock:
            self._open[connection] = None
            oldest = next(iter(self._open)) if len(self._open) > self._most else None
            if oldest is not None:
                del self._open[oldest]
        if oldest is not None:
            # its thread wakes up, finds it at its end, and closes it; TLS has nothing left to say
            with suppress(OSError):
                socket.socket.shutdown(oldest, socket.SHUT_RDWR)

    def leave(self, connection: socket.socket) -> None:
        """A connection is done; whether or not it was cut off."""
        with self._lock:
            self._open.pop(connection, None)
