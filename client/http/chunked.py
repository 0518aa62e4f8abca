"""
Undo `Transfer-Encoding: chunked`, strictly, without touching a socket.

The standard library's chunk reader costs several microseconds a chunk, and an API server sends a chunk per
watch event; read by line it also hides truncation. Here a block of many chunks is undone in one call, and
nothing but the terminating chunk counts as an end.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final

_LINE_LIMIT: Final = 4096  # a chunk size with extensions, or a trailer
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")


class ChunkError(Exception):
    """The bytes are not chunked encoding."""


class _State(Enum):
    SIZE = auto()
    DATA = auto()
    DATA_END = auto()
    TRAILER = auto()
    DONE = auto()


class Dechunker:
    """
    Chunked bytes in, payload out; how the bytes are cut makes no difference.

    State: `_left` payload bytes missing of the current chunk (0 except in DATA); `_pending` the start of a
    line that has not ended, at most a few kB.
    """

    def __init__(self) -> None:
        self._state = _State.SIZE
        self._left = 0
        self._pending = b""

    @property
    def done(self) -> bool:
        """Whether the terminating chunk and its trailers have been seen."""
        return self._state is _State.DONE

    def feed(self, data: bytes) -> bytes:
        """
        The payload in data, which may be empty; bytes after the end are ignored.

        Raises: ChunkError on anything that is not chunked encoding; the payload before it is lost.
        """
        if self._pending:
            data, self._pending = self._pending + data, b""
        parts: list[bytes] = []
        position = 0
        while position < len(data) and self._state is not _State.DONE:
            if self._state is _State.SIZE:
                position = _take_whole_chunks(data, position, parts)
            if self._state is _State.DATA:
                position = self._take_data(data, position, parts)
                continue
            end = data.find(b"\r\n", position, position + _LINE_LIMIT)
            if end < 0:
                self._keep(data[position:])
                break
            self._take_line(data[position:end])
            position = end + 2
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _take_data(self, data: bytes, position: int, parts: list[bytes]) -> int:
        part = data[position : position + self._left]
        parts.append(part)
        self._left -= len(part)
        if not self._left:
            self._state = _State.DATA_END
        return position + len(part)

    def _take_line(self, line: bytes) -> None:
        if self._state is _State.SIZE:
            self._left = _chunk_size(line)
            self._state = _State.DATA if self._left else _State.TRAILER
        elif self._state is _State.DATA_END:
            if line:
                raise ChunkError(f"expected the end of a chunk, got {line[:40]!r}")
            self._state = _State.SIZE
        elif not line:
            self._state = _State.DONE

    def _keep(self, rest: bytes) -> None:
        if len(rest) >= _LINE_LIMIT:
            raise ChunkError(f"no chunk size in {_LINE_LIMIT} bytes: {rest[:40]!r}")
        if self._state is _State.DATA_END and not b"\r\n".startswith(rest):
            raise ChunkError(f"expected the end of a chunk, got {rest[:40]!r}")
        self._pending = rest


def _take_whole_chunks(data: bytes, position: int, parts: list[bytes]) -> int:
    """Take the chunks that data holds from size to end; returns where the first other one starts."""
    while True:
        end = data.find(b"\r\n", position, position + _LINE_LIMIT)
        if end < 0:
            return position
        start = end + 2
        after = start + _chunk_size(data[position:end])
        if after == start or data[after : after + 2] != b"\r\n":
            return position
        parts.append(data[start:after])
        position = after + 2


@lru_cache(maxsize=1024)  # events of a kind are of few sizes
def _chunk_size(line: bytes) -> int:
    match = _SIZE.fullmatch(line)
    if match is None:
        raise ChunkError(f"not a chunk size: {line[:40]!r}")
    return int(match[1], 16)
