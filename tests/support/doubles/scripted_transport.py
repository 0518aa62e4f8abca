"""A transport in memory with the test's answers, and streams with the test's blocks."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from handloop.client.errors import StreamClosed
from handloop.client.http.response import Headers, Response


class Sent(NamedTuple):
    """One request as the client sent it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes | None
    timeout_seconds: float | None
    send_seconds: float = math.inf


class ScriptedStream:
    """
    Implements client.response.Stream: gives its blocks one by one, then raises end, or ends cleanly.

    After the blocks of a stream that holds it waits for close().
    """

    def __init__(
        self,
        blocks: Iterable[bytes] = (),
        *,
        end: Exception | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        holds: bool = False,
    ) -> None:
        self._blocks = iter(blocks)
        self._end = end
        self._holds = holds
        self.closed = threading.Event()
        self.status = status
        self.headers: Mapping[str, str] = Headers(headers or {})

    def read_block(self) -> bytes:
        if self.closed.is_set():
            raise StreamClosed("closed")
        block = next(self._blocks, b"")
        if block:
            return block
        if self._end is not None:
            raise self._end
        if self._holds:
            assert self.closed.wait(20.0)
            raise StreamClosed("closed")
        return b""

    def read_all(self) -> bytes:
        if self._end is not None:
            raise self._end
        return b"".join(self._blocks)

    def close(self) -> None:
        self.closed.set()


class ScriptedTransport:
    """
    Implements handloop.client.transport.Transport: each request takes the next answer (a Response, or an
    exception to raise), each stream the next stream; `sent` has the requests.
    """

    host = "https://test:6443"

    def __init__(
        self,
        answers: Iterable[Response | Exception] = (),
        streams: Iterable[ScriptedStream | Exception] = (),
    ) -> None:
        self._answers = iter(answers)
        self._streams = iter(streams)
        self.sent: list[Sent] = []

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_seconds: float | None = None,
        send_seconds: float = math.inf,
    ) -> Response:
        fields = Headers(headers or {})
        self.sent.append(Sent(method, path, query or {}, fields, body, timeout_seconds, send_seconds))
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout_seconds: float | None = None,
    ) -> ScriptedStream:
        fields = Headers(headers or {})
        self.sent.append(Sent(method, path, query or {}, fields, None, read_timeout_seconds))
        stream = next(self._streams)
        if isinstance(stream, Exception):
            raise stream
        return stream


def answer(status: int = 200, body: bytes = b"{}", **headers: str) -> Response:
    """A response; header names are given with underscores."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, Headers(fields), body)
