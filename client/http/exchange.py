"""
One request and its response on an open connection: the head, the body in blocks, and the end of a stream.

httptools (llhttp, the Node.js parser) separates heads, chunks and bodies as strictly as RFC 9112 requires.
The readers of urllib3 and http.client accept some malformed chunks as valid, and some truncated bodies as
complete. Those readers also have no deadline for a whole request, and need more time to read a watch event
than handloop needs to decode it.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, Final, TypeAlias

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from handloop.client.errors import BadAnswer, ClientError, ConnectionBroken, StreamClosed
from handloop.client.http.connections import Connection
from handloop.client.http.failures import FAILURES, cause_of
from handloop.client.http.inflater import Inflater
from handloop.client.http.response import Headers
from handloop.client.http.sockets import arm
from handloop.seams.locks import new_lock

BLOCK_BYTES: Final = 65_536
# This limits all bytes other than the body: the head, chunk sizes with extensions, and trailers.
_LIMIT_WITHOUT_BODY: Final = 262_144
_SHORT_BYTES: Final = 4 << 20
_LOCK_RANK: Final = 98
_FINAL_STATUS: Final = 200
_FAILED_STATUS: Final = 400
_SWITCHING_PROTOCOLS: Final = 101
_WITH_BODY: Final = ("POST", "PUT", "PATCH")
_NOT_IN_A_TARGET: Final = re.compile(r"[^\x21-\x7e]")
_NOT_IN_A_FIELD: Final = re.compile(r"[\0\r\n]")


Fields: TypeAlias = Sequence[tuple[str, str]]
"""The header fields of a request, in order."""


def exchange(
    connection: Connection,
    method: str,
    target: str,
    headers: Fields,
    body: bytes | None,
    *,
    answer_deadline: float | None = None,
) -> Answer:
    """
    Send a request and read the head of its response. The caller has already armed the socket with a deadline.

    Args: answer_deadline replaces that deadline once the request is sent; None keeps it.
    Raises: OSError, ConnectionBroken, BadAnswer; ValueError for a target or header that contains a line
    break.
    """
    sock = connection.sock
    fields = [("Host", connection.host_header), *headers]
    if body is not None or method in _WITH_BODY:
        fields.append(("Content-Length", str(len(body or b""))))
    answer = Answer(sock, has_body=method != "HEAD")
    try:
        sock.sendall(_head(method, target, fields) + (body or b""))
    except (ConnectionError, ssl.SSLEOFError):
        # A server refuses a body that is too large without reading all of it. As in Go, its response counts.
        if not _is_refusal(answer):
            raise
        return answer
    if answer_deadline is not None:
        arm(sock, deadline=answer_deadline)
    answer.read_head()
    return answer


def _is_refusal(answer: Answer) -> bool:
    """Return whether the server sent an error response before it closed the connection during our send."""
    try:
        answer.read_head()
    except FAILURES:
        return False
    answer.keep_alive = False
    if answer.status < _FAILED_STATUS:
        answer.drop()
    return answer.status >= _FAILED_STATUS


def _head(method: str, target: str, fields: Fields) -> bytes:
    if _NOT_IN_A_TARGET.search(f"{method}{target}"):
        raise ValueError(f"not a request line: {method} {target!r}")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in fields:
        if _NOT_IN_A_FIELD.search(f"{name}{value}"):
            raise ValueError(f"the header {name!r} contains a line break")
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


class Answer:
    """
    The response to one request. A truncated body raises an error, and is never returned as complete.

    status and headers are set by read_head(). Once the body has been read, keep_alive is true if the
    connection can serve another request. A gzip body is inflated while it is read.
    State: _blocks holds the parts of the body that have arrived. _has_head and _ended become true when the
    head and the end arrive. Only the reading thread uses this object. The parser calls the on_...() methods.
    """

    def __init__(self, sock: Any, *, has_body: bool = True) -> None:
        """Args: has_body is False for the response to a HEAD."""
        self.sock = sock
        self.status = 0
        self.headers = Headers()
        self.keep_alive = False
        self._has_body = has_body
        self._blocks: list[bytes] = []
        self._begun = self._has_head = self._ended = self._ends_with_connection = False
        self._without_body = 0
        self._inflater: Inflater | None = None
        self._buffer = memoryview(bytearray(BLOCK_BYTES))
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)

    def read_head(self) -> None:
        """
        Read the status and headers.

        Raises: ConnectionBroken if the connection ends first; BadAnswer; OSError.
        """
        while not self._has_head:
            if self._receive():
                continue
            if self._without_body and not self._begun:
                raise BadAnswer("not a valid HTTP response: it has no status line")
            raise ConnectionBroken("the server closed the connection without a response")

    def read_block(self) -> bytes:
        """
        Return the next bytes of the body, or b"" at its end.

        Raises: ConnectionBroken if the connection ends first; BadAnswer; OSError.
        Blocks: until at least one byte arrives.
        """
        if self._inflater is None:
            return self._receive_block()
        while not (piece := self._inflater.take()):
            block = self._receive_block()
            if not block:
                self._inflater.finish()
                return b""
            self._inflater.feed(block)
        return piece

    def inflate(self) -> None:
        """Read the body as gzip. Remove its encoding and length headers, which no longer apply."""
        self._inflater = Inflater()
        for name in ("Content-Encoding", "Content-Length"):
            self.headers.pop(name, None)

    def _receive_block(self) -> bytes:
        while not self._blocks:
            if self._ended:
                self.drop()
                return b""
            if not self._receive():
                if not self._ends_with_connection:
                    raise ConnectionBroken("the answer was cut off")
                self._ended = True
        blocks, self._blocks = self._blocks, []
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def drop(self) -> None:
        """Stop reading. Break the reference cycle with the parser, so that both can be freed at once."""
        self._parser = None

    def _receive(self) -> bool:
        """Receive and parse the next bytes. Return False if the connection has ended."""
        try:
            count = self.sock.recv_into(self._buffer, BLOCK_BYTES)
            if count:
                self._parse(count)
            else:
                self.drop()
        except BaseException:
            self.drop()
            raise
        return bool(count)

    def _parse(self, count: int) -> None:
        assert self._parser is not None
        try:
            self._parser.feed_data(self._buffer[:count])
        except (HttpParserError, HttpParserUpgrade) as error:
            upgrade = isinstance(error, HttpParserUpgrade)
            if upgrade or not self._ended:
                words = "it switches protocols" if upgrade else error
                raise BadAnswer(f"not a valid HTTP response: {words}") from error
            self.keep_alive = False
        self._without_body = 0 if self._blocks else self._without_body + count
        if self._without_body > _LIMIT_WITHOUT_BODY and not self._ended:
            raise BadAnswer(f"not a valid HTTP response: {_LIMIT_WITHOUT_BODY >> 10} kB without a body")

    def on_message_begin(self) -> None:
        """
        The parser calls this when a response starts.

        If the requested response has already ended, a further one makes the connection unusable.
        """
        self._begun = True
        if self._ended:
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """The parser calls this for each field of the head, and of the trailer, which is ignored."""
        if not self._has_head:
            # The parser keeps the white space after a value, which is not a part of it.
            self.headers.add(name.decode("latin-1"), value.decode("latin-1").rstrip(" \t"))

    def on_headers_complete(self) -> None:
        """
        The parser calls this after each head.

        The heads of interim responses, such as `100 Continue`, may arrive before the final head.
        """
        if self._has_head:
            return
        assert self._parser is not None
        self.status = self._parser.get_status_code()
        if self.status < _FINAL_STATUS and self.status != _SWITCHING_PROTOCOLS:
            self.headers.clear()
            return
        self._has_head = True
        self._ended = not self._has_body
        self.keep_alive = self._parser.should_keep_alive()
        chunked = self.headers.get("Transfer-Encoding", "").lower().endswith("chunked")
        self._ends_with_connection = not chunked and "Content-Length" not in self.headers

    def on_body(self, body: bytes) -> None:
        """The parser calls this for each part of the body."""
        if not self._ended:
            self._blocks.append(body)

    def on_message_complete(self) -> None:
        """The parser calls this at the end of a response."""
        self._ended = self._ended or self._has_head


def read_whole(source: Answer | HTTPStream, limit: int) -> bytes:
    """
    Read a body to its end.

    Raises: BadAnswer for more than limit bytes; otherwise the same errors as read_block.
    """
    # BytesIO grows in place and returns its bytes without a copy. A copy would make malloc return memory to
    # the system each time.
    body = BytesIO()
    while block := source.read_block():
        if body.tell() + len(block) > limit:
            raise BadAnswer(f"the response is larger than the limit of {limit >> 20} MiB")
        body.write(block)
    return body.getvalue()


class HTTPStream:
    """
    A handloop.client.http.response.Stream on its own connection, which is closed when the stream ends.

    State: _lock guards _reading, which is true while a read is in progress, and _over, which is true once the
    stream is finished. _ended is true once the body has been read to a clean end; only the reader uses it.
    The reader closes the connection after its last read. close() closes the connection only if no read is in
    progress. Otherwise, another connection could get the file descriptor from which the reader receives.
    Threads: one thread reads. Any thread can close the stream, which shuts down the socket and so wakes the
    reader.
    """

    def __init__(
        self, connection: Connection, answer: Answer, explain: Callable[[Exception], ClientError]
    ) -> None:
        """Args: explain converts a read error into a ClientError."""
        self._lock = new_lock("HTTPStream._lock", _LOCK_RANK)
        self._connection = connection
        self._answer = answer
        self._explain = explain
        self._reading = self._over = self._ended = False
        self.status: int = answer.status
        self.headers: Mapping[str, str] = answer.headers

    def read_block(self) -> bytes:
        """Return the next bytes as received, or b"" at a clean end; see Stream."""
        with self._lock:
            if self._over:
                if self._ended:
                    return b""
                raise StreamClosed("the stream was closed")
            self._reading = True
        try:
            block = self._answer.read_block()
        except FAILURES as error:
            if self._leave(over=True):
                raise StreamClosed("the stream was closed") from None
            raise self._explain(error) from cause_of(error)
        except BaseException:
            self._leave(over=True)
            raise
        if self._leave(over=not block):
            raise StreamClosed("the stream was closed")
        self._ended = not block  # only the reader uses it
        return block

    def read_all(self) -> bytes:
        """Return the rest of a short response, such as an error."""
        try:
            return read_whole(self, _SHORT_BYTES)
        except BadAnswer as error:
            self.close()
            raise self._explain(error) from error.__cause__

    def close(self) -> None:
        """Close the stream. Any thread can call this, any number of times."""
        with self._lock:
            if self._over:
                return
            self._over = True
            reading = self._reading
            if reading:
                # Do this under the lock, so that the reader cannot close the descriptor in the meantime.
                _shut_down(self._answer.sock)
        if not reading:
            self._let_go()

    def _leave(self, *, over: bool) -> bool:
        """Record that the reader has finished a read. Returns: True if close() was called during the read."""
        with self._lock:
            self._reading = False
            closed = self._over
            self._over = closed or over
        if closed or over:
            self._let_go()
        return closed

    def _let_go(self) -> None:
        self._connection.close()
        self._answer.drop()


def _shut_down(sock: Any) -> None:
    try:
        # Do not call SSLSocket.shutdown, which removes the TLS object while the reader uses it.
        if isinstance(sock, socket.socket):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
        else:
            sock.socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the peer was faster
