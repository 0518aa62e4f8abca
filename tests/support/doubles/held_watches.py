"""A transport for one side of a test, whose watches lag and break on command: on any server."""

from __future__ import annotations

import threading
from typing import Any

from handloop.client.http.response import Stream
from handloop.client.transport import ForwardingTransport, Transport


class HeldWatches(ForwardingTransport):
    """
    Hands everything on, but holds back the events of the watches of some collections.

    State, under _lock: _open, the streams so far; _held, the collections, such as `pods`.
    Any thread can use it.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._lock = threading.Lock()
        self._open: list[Stream] = []
        self._held: tuple[str, ...] = ()

    def hold(self, *plurals: str) -> None:
        """From now on hold back the events of these, in place of any before; of none without one."""
        with self._lock:
            self._held = plurals

    def holds(self, path: str) -> bool:
        """Whether the events of a collection are held back."""
        with self._lock:
            return path.rpartition("/")[2] in self._held

    def stream(self, method: str, path: str, **options: Any) -> Stream:
        """Open a stream; see Transport."""
        stream = super().stream(method, path, **options)
        with self._lock:
            self._open.append(stream)
        return _Held(stream, self, path)

    def drop(self) -> None:
        """Break the streams that are open: their readers lose what they have not read."""
        with self._lock:
            broken, self._open = self._open, []
        for stream in broken:
            stream.close()


class _Held:
    """Implements Stream. A block is read when it comes, and handed over once nothing holds it."""

    def __init__(self, stream: Stream, watches: HeldWatches, path: str) -> None:
        self._stream = stream
        self._watches = watches
        self._path = path
        self._closed = threading.Event()
        self.status = stream.status
        self.headers = stream.headers

    def read_block(self) -> bytes:
        block = self._stream.read_block()
        while self._watches.holds(self._path) and not self._closed.wait(0.05):
            pass
        return block

    def read_all(self) -> bytes:
        return self._stream.read_all()

    def close(self) -> None:
        self._closed.set()
        self._stream.close()
