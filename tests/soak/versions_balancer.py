"""A load balancer that forwards connections only to replicas that are ready, as a Service does."""

from __future__ import annotations

import http.client
import itertools
import select
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Final

_PROBE_SECONDS: Final = 0.3
_BETWEEN_SECONDS: Final = 0.1
_READY: Final = 200


class Balancer:
    """
    Listens on its own port, and forwards connections to the webhooks of replicas.

    State: ready, the webhook ports of the replicas that are ready. Threads: one that accepts connections, one
    that probes replicas, and one for each connection.
    """

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.ready: list[int] = []
        self._replicas: dict[int, int] = {}
        self._turn = itertools.count()
        self._stop = threading.Event()
        for what in (self._accept, self._probe):
            threading.Thread(target=what, daemon=True).start()

    def add(self, port: int, health: int) -> None:
        """Forward connections to a webhook while its health page reports ready."""
        self._replicas[port] = health

    def leave(self, port: int) -> None:
        """Stop forwarding new connections to a webhook."""
        self._replicas.pop(port, None)
        self.ready = [each for each in self.ready if each != port]

    def close(self) -> None:
        """Stop listening and probing."""
        self._stop.set()
        self._socket.close()

    def _probe(self) -> None:
        while not self._stop.wait(_BETWEEN_SECONDS):
            self.ready = [port for port, health in list(self._replicas.items()) if _is_ready(health)]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with closing(client):
            for _ in range(50):
                ready = self.ready
                if ready and (server := _connected(ready[next(self._turn) % len(ready)])):
                    break
                # Wait for a ready replica. kube-proxy would refuse, but it usually has more replicas.
                if self._stop.wait(0.05):
                    return
            else:
                return
            with closing(server):
                _copy(client, server)


def _is_ready(health: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", health, timeout=_PROBE_SECONDS)) as connection:
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == _READY
        except (OSError, http.client.HTTPException):
            return False


def _connected(port: int) -> socket.socket | None:
    with suppress(OSError):
        return socket.create_connection(("127.0.0.1", port), _PROBE_SECONDS)
    return None


def _copy(one: socket.socket, other: socket.socket) -> None:
    """Copy data in both directions, until one of the connections ends."""
    for each in (one, other):
        each.settimeout(None)
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ways: dict[socket.socket, Callable[[bytes], None]] = {one: other.sendall, other: one.sendall}
    with suppress(OSError):
        while True:
            for source in select.select(list(ways), [], [])[0]:
                if not (data := source.recv(1 << 16)):
                    return
                ways[source](data)
