"""
Chooses the form of the answer to a watch: HTTP chunks, unchunked lines (HTTP/1.0) or WebSocket messages.

Follows: apiserver endpoints/handlers/watch.go (ServeHTTP, HandleWS) and golang.org/x/net/websocket, which
requires an Origin header, and accepts at most one subprotocol, of any name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from aiohttp import hdrs, web
from aiohttp.http import HttpVersion11

from handloop_sandbox.requests.request import Headers

Framing = Callable[[Sequence[bytes]], bytes]
"""Takes one or more lines, and returns the bytes to write to the socket."""

_TEXT_MESSAGE: Final = 0x81
_CLOSE_SECONDS: Final = 1.0
_SHORT: Final = 126
_MEDIUM: Final = 1 << 16


class WatchAnswer(NamedTuple):
    """An unprepared response, and the function that frames its lines (None if the request is refused)."""

    response: web.StreamResponse
    framing: Framing | None


def watch_answer(incoming: web.BaseRequest, headers: Headers) -> WatchAnswer:
    """Return the answer to a watch request. Args: headers are not used for a WebSocket."""
    if _asks_for_websocket(incoming):
        return _websocket(incoming)
    response = web.StreamResponse(headers=headers)
    if incoming.version >= HttpVersion11:
        response.enable_chunked_encoding()
        return WatchAnswer(response, one_chunk)
    response.force_close()  # the end of the connection marks the end of the stream
    return WatchAnswer(response, b"".join)


def one_chunk(lines: Sequence[bytes]) -> bytes:
    """Return all lines as one chunk."""
    content = b"".join(lines)
    return b"%x\r\n%b\r\n" % (len(content), content)


def messages(lines: Sequence[bytes]) -> bytes:
    """Return the lines as WebSocket text messages, one per line."""
    return b"".join(_head(len(line)) + line for line in lines)


def _head(size: int) -> bytes:
    if size < _SHORT:
        return struct.pack("!BB", _TEXT_MESSAGE, size)
    if size < _MEDIUM:
        return struct.pack("!BBH", _TEXT_MESSAGE, _SHORT, size)
    return struct.pack("!BBQ", _TEXT_MESSAGE, _SHORT + 1, size)


def _asks_for_websocket(incoming: web.BaseRequest) -> bool:
    options = [option.strip().lower() for option in incoming.headers.get(hdrs.CONNECTION, "").split(",")]
    return "upgrade" in options and incoming.headers.get(hdrs.UPGRADE, "").lower() == "websocket"


def _websocket(incoming: web.BaseRequest) -> WatchAnswer:
    if hdrs.SEC_WEBSOCKET_KEY not in incoming.headers:
        return _refusal(400, "mismatch challenge/response")
    if hdrs.ORIGIN not in incoming.headers:
        return _refusal(403)
    protocols = [each.strip() for each in incoming.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "").split(",")]
    if len(protocols) > 1:
        return _refusal(400)
    response = web.WebSocketResponse(
        timeout=_CLOSE_SECONDS, compress=False, protocols=tuple(filter(None, protocols))
    )
    return WatchAnswer(response, messages)


def _refusal(status: int, text: str = "") -> WatchAnswer:
    response = web.Response(status=status, text=text)
    response.force_close()
    return WatchAnswer(response, None)
