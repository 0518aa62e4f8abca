"""An answer that is read while it arrives, and that any thread can end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Final

from handloop.client.errors import BadAnswer, ClientError, StreamClosed
from handloop.client.http.connection import Answer, Connection
from handloop.client.http.failures import FAILURES
from handloop.client.http.response import Headers
from handloop.workqueue.locks import new_lock

_LOCK_RANK: Final = 98
_SHORT_BYTES: Final = 4 << 20


class _State(Enum):
    OPEN = auto()
    ENDED = auto()  # read to its clean end
    BROKEN = auto()
    CLOSED = auto()  # by us


class HTTPStream:
    """
    A client.response.Stream on a connection of its own, which is closed afterwards.

    State: _state and _reading, under _lock. The reader gives the connection up when it leaves the last time;
    close() does so only when nobody reads: closing it under a thread that sits in a receive could hand its
    file descriptor to somebody else.
    Threads: one reads; any closes, by shutting the socket down, which wakes the reader.
    """

    def __init__(
        self, connection: Connection, answer: Answer, explain: Callable[[Exception], ClientError]
    ) -> None:
        """Args: explain turns what a read raises into one of our errors."""
        self._lock = new_lock("HTTPStream._lock", _LOCK_RANK)
        self._connection = connection
        self._answer = answer
        self._explain = explain
        self._state = _State.OPEN
        self._reading = False
        self.status: int = answer.status
        self.headers: Mapping[str, str] = Headers(answer.getheaders())

    def read_block(self) -> bytes:
        """The next bytes as they came, b"" at the clean end; see Stream."""
        with self._lock:
            if self._state is _State.ENDED:
                return b""
            if self._state is not _State.OPEN:
                raise StreamClosed("the stream was closed")
            self._reading = True
        try:
            block = self._answer.read_block()
        except FAILURES as error:
            if self._leave(_State.BROKEN):
                raise StreamClosed("the stream was closed") from None
            raise self._explain(error) from error
        except BaseException:
            self._leave(_State.BROKEN)
            raise
        if self._leave(_State.OPEN if block else _State.ENDED):
            raise StreamClosed("the stream was closed")
        return block

    def read_all(self) -> bytes:
        """The rest of a short answer, such as an error's."""
        parts: list[bytes] = []
        size = 0
        while block := self.read_block():
            size += len(block)
            if size > _SHORT_BYTES:
                self.close()
                problem = f"the answer is larger than the limit of {_SHORT_BYTES >> 20} MiB"
                raise self._explain(BadAnswer(problem))
            parts.append(block)
        return b"".join(parts)

    def close(self) -> None:
        """Give the connection up, from any thread, any number of times."""
        with self._lock:
            if self._state is not _State.OPEN:
                return
            self._state = _State.CLOSED
            reading = self._reading
            if reading:
                # under the lock, so that the reader cannot close the descriptor in between
                _shut_down(self._answer.transport_socket)
        if not reading:
            dispose(self._connection, self._answer)

    def _leave(self, state: _State) -> bool:
        """The reader is out of its read; returns whether close() came meanwhile."""
        with self._lock:
            self._reading = False
            closed = self._state is _State.CLOSED
            if not closed:
                self._state = state
        if closed or state is not _State.OPEN:
            dispose(self._connection, self._answer)
        return closed


def dispose(connection: Connection, answer: Answer) -> None:
    """Close both: an answer that ends with its connection holds the socket alone."""
    answer.close()
    connection.close()


def _shut_down(sock: Any) -> None:
    try:
        # not SSLSocket.shutdown: that takes the TLS object away under the reader
        if isinstance(sock, socket.socket):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
        else:
            sock.socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the peer was faster
