"""The idle connections to one server, kept for the next request."""

from __future__ import annotations

import time
import weakref
from typing import Final, NamedTuple

from handloop.client.auth.tls import KeyPair, TLSContexts
from handloop.client.http.connection import Connection, Route, new_connection, open_connection
from handloop.workqueue.locks import new_lock

# net/http's IdleConnTimeout as client-go sets it; servers and balancers drop idle connections a little later
_IDLE_SECONDS: Final = 90.0
_MAX_IDLE: Final = 32
_LOCK_RANK: Final = 97


class _Idle(NamedTuple):
    connection: Connection
    generation: int
    since: float


class Connections:
    """
    Lends connections: each belongs to one thread at a time.

    State: _idle, most recently used last, so that the few that are needed stay warm and the others expire;
    _closed ends the keeping. Threads: any; nothing is closed or opened under the lock.
    """

    def __init__(self, route: Route, contexts: TLSContexts | None) -> None:
        """Args: contexts is None for a plain http server."""
        self._route = route
        self._contexts = contexts
        self._lock = new_lock("Connections._lock", _LOCK_RANK)
        self._idle: list[_Idle] = []
        self._closed = False
        # a transport that nobody closed gives its idle connections up when nobody can use them any more
        weakref.finalize(self, _close_all, self._idle)

    def take_idle(self, key_pair: KeyPair | None) -> Lent | None:
        """A connection that was used before and is still open, or None."""
        generation = self._generation(key_pair)
        while True:
            with self._lock:
                if not self._idle:
                    return None
                idle = self._idle.pop()
            fresh = time.monotonic() - idle.since < _IDLE_SECONDS and idle.generation == generation
            if fresh and idle.connection.is_connected:
                return Lent(idle.connection, generation, reused=True)
            idle.connection.close()

    def connect(self, key_pair: KeyPair | None, deadline: float) -> Lent:
        """
        A new connection.

        Raises: ConfigError for a key pair that does not load; else as open_connection.
        Blocks: until the deadline (monotonic) at most.
        """
        context, generation = (None, 0) if self._contexts is None else self._contexts.current(key_pair)
        connection = new_connection(self._route, context)
        try:
            open_connection(connection, self._route, deadline)
        except BaseException:
            connection.close()
            raise
        return Lent(connection, generation, reused=False)

    def give_back(self, lent: Lent) -> None:
        """Keep a connection whose answer has been read to its end."""
        now = time.monotonic()
        with self._lock:
            self._idle.append(_Idle(lent.connection, lent.generation, now))
            dropped = self._drop_locked(now)
        _close_all(dropped)

    def _drop_locked(self, now: float) -> list[_Idle]:
        keep = 0 if self._closed else _MAX_IDLE
        cut = max(0, len(self._idle) - keep)
        while cut < len(self._idle) and now - self._idle[cut].since >= _IDLE_SECONDS:
            cut += 1
        dropped = self._idle[:cut]
        del self._idle[:cut]
        return dropped

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle = self._idle.copy()
            self._idle.clear()
        _close_all(idle)

    def _generation(self, key_pair: KeyPair | None) -> int:
        return 0 if self._contexts is None else self._contexts.current(key_pair)[1]


def _close_all(idle: list[_Idle]) -> None:
    for entry in idle:
        entry.connection.close()


class Lent(NamedTuple):
    """A connection in somebody's hands; reused means that the server may have given it up already."""

    connection: Connection
    generation: int
    reused: bool
