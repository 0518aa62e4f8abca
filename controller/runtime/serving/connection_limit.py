"""Limit the number of a server's open connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from handloop.seams.locks import new_condition


class ConnectionLimit:
    """
    Admits every new connection. If too many are open, it cuts off the one that was silent for longest.

    A client that holds connections open can therefore neither block a probe or scrape, nor cut off an active
    client.

    State, under _lock: _open, the open connections, in the order of their last request; _at_work, the number
    of requests that are being answered.
    Threads: the server's thread admits and waits; the connections' threads call the other methods.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = new_condition("ConnectionLimit._lock", 95)
        self._open: dict[socket.socket, None] = {}
        self._at_work = 0

    def admit(self, connection: socket.socket) -> None:
        """A connection has been accepted."""
        with self._lock:
            self._open[connection] = None
            oldest = next(iter(self._open)) if len(self._open) > self._most else None
            if oldest is not None:
                del self._open[oldest]
        if oldest is not None:
            # The connection's thread wakes up, reads end-of-file, and closes the socket without a TLS close.
            with suppress(OSError):
                socket.socket.shutdown(oldest, socket.SHUT_RDWR)

    def heard(self, connection: socket.socket) -> None:
        """Record that a connection has sent a request. A connection that was cut off is ignored."""
        with self._lock:
            if connection in self._open:
                del self._open[connection]
                self._open[connection] = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A context manager for the time in which a response is created and sent."""
        with self._lock:
            self._at_work += 1
        try:
            yield
        finally:
            with self._lock:
                self._at_work -= 1
                self._lock.notify_all()

    def leave(self, connection: socket.socket) -> None:
        """Record that a connection has ended, or was cut off."""
        with self._lock:
            self._open.pop(connection, None)
            self._lock.notify_all()

    def wait_until_none(self, seconds: float) -> None:
        """Wait until no connection is open. Blocks: for at most the given seconds."""
        with self._lock:
            self._lock.wait_for(lambda: not self._open, seconds)

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no request is being answered. Blocks: for at most the given seconds."""
        with self._lock:
            self._lock.wait_for(lambda: not self._at_work, seconds)
