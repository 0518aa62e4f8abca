"""
The sandbox's HTTP server: aiohttp in a separate thread, on loopback by default.

A request passes through `_answer` (which reads the host, path and body), the engine, and `_sent`, which
writes the answer. A watch stays in `_stream` until it ends. A pass (`_turn`) runs the controllers that are
due, writes the lines of every open watch directly to its socket, and sets the timer of the next pass. A
commit schedules at most one pass, however many changes and watches there are, so that no task has to wake up
for each watch event.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from math import inf
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion10, HttpVersion11, RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from handloop_sandbox.accepting import accept
from handloop_sandbox.api import MAX_BODY_BYTES, refusal
from handloop_sandbox.aside import aside, in_thread
from handloop_sandbox.bind_address import BindAddress
from handloop_sandbox.clock import Clock
from handloop_sandbox.connections import Connections, HeldRequests, WatchPump, break_connection
from handloop_sandbox.conversion_work import Work
from handloop_sandbox.engine import Engine, Stream
from handloop_sandbox.faults.faults import LostAnswerError, NoAnswerError
from handloop_sandbox.faults.watch_output import WatchOutput
from handloop_sandbox.requests.request import Request, Response
from handloop_sandbox.storage.watches import BATCH
from handloop_sandbox.watch_answer import watch_answer
from handloop_sandbox.wire.query import Query, is_escaped, target_of
from handloop_sandbox.wire.status import StatusError, failure, request_entity_too_large

log = logging.getLogger("sandbox")
_aiohttp_log: Final = log.getChild("http")

_MAX_LINE: Final = 64 * 1024
_BLOCK_BYTES: Final = 256 * 1024
_WHOLE_BYTES: Final = 1024 * 1024
_BODY_SECONDS: Final = 60.0
_HEAD_SECONDS: Final = 32.0  # from the connection's start or its last answer
_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 1.0
_ROUNDS: Final = 5


class HTTPServer:
    """
    Serves an engine on a port, and runs the engine's controllers.

    State: _pumps maps open watches to their pumps, _held contains the requests that a fault delays,
    _connections contains the sockets, and _timer starts the next pass. Only the loop's thread uses these.
    _scheduled is true while a pass is scheduled to run soon; _lock guards it.
    Threads: the owner calls start and stop. Any thread can call schedule. Everything else runs on the thread
    `sandbox-http`.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        *,
        address: BindAddress = BindAddress(),  # noqa: B008 - frozen
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Args: address is the IP address to listen on. tls is None for plain HTTP."""
        self._engine = engine
        self._clock = clock
        self._address = address
        self._names = address.served_names()
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._port = 0
        self._pumps: dict[WatchOutput, WatchPump] = {}
        self._held = HeldRequests()
        self._connections = Connections()
        self._timer: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()
        self._scheduled = False

    def start(self, port: int) -> int:
        """
        Listen on a port; 0 picks a free one.

        Returns: the port. Raises: OSError if the port is taken. Blocks: until requests are accepted.
        """
        self._thread = threading.Thread(target=self._run, args=(port,), name="sandbox-http", daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise TimeoutError("the sandbox did not start to listen in time")
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self._port

    def stop(self) -> None:
        """End every watch, stop listening and join the thread. Blocks: for at most about two seconds."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(self._stop.set)
        thread.join()

    def schedule(self) -> None:
        """Schedule one pass to run soon. Any thread can call it."""
        with self._lock:
            if self._scheduled or self._loop is None:
                return
            self._scheduled = True
            # Hold the lock for this call, because the loop cannot close without acquiring it.
            self._loop.call_soon_threadsafe(self._turn)

    def _run(self, port: int) -> None:
        try:
            asyncio.run(self._serve(port))
        except BaseException as error:  # noqa: BLE001 - raised again by start() in its caller's thread
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        server = web.Server(
            self._answer,
            request_factory=self._request,
            handler_cancellation=True,
            access_log=None,
            logger=_aiohttp_log,
            auto_decompress=False,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            keepalive_timeout=_HEAD_SECONDS,
        )
        family = socket.AF_INET6 if ":" in self._address.text else socket.AF_INET
        listening = socket.create_server((self._address.text, port), family=family)
        self._port = listening.getsockname()[1]
        listener = await accept(server, _aiohttp_log, listening, tls=self._tls)
        with self._lock:
            self._loop = loop
        self._turn()
        self._ready.set()
        try:
            await self._stop.wait()
        finally:
            with self._lock:
                self._loop = None
            await self._finish(server, listener)

    async def _finish(self, server: web.Server, listener: asyncio.Server) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for accepting in listener.sockets:
            asyncio.get_running_loop().remove_reader(accepting)
        # Sockets that were just accepted must become connections first. Otherwise, asyncio would forget them
        # in listener.close() and leave them open.
        await _rounds()
        listener.close()
        for pump in list(self._pumps.values()):
            pump.finish()
        self._held.release()
        await _rounds()
        # Otherwise, shutdown() would wait for the next request on idle connections.
        server.pre_shutdown()
        await _rounds()
        await self._connections.part(server)
        await server.shutdown(_STOP_SECONDS)
        await _rounds()  # closed transports release their sockets in a later iteration

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        loop = asyncio.get_running_loop()
        self._connections.heard(protocol, task)
        limit = MAX_BODY_BYTES + 1
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=limit)

    async def _answer(self, incoming: web.BaseRequest) -> web.StreamResponse:
        target = target_of(incoming.raw_path, incoming.host)
        path, query = target.path, target.query
        if not is_escaped(path) or incoming.version not in (HttpVersion10, HttpVersion11):
            return _not_understood()
        request = Request(incoming.method, path, Query.parse(query), _headers(incoming))
        if not self._answers_for(target.authority):
            return _whole(
                refusal(request, StatusError(failure(403, "Forbidden", "only loopback names are served")))
            )
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                body = await incoming.read()
        except (TimeoutError, web.RequestPayloadError):
            return _not_understood()
        except web.HTTPRequestEntityTooLarge:
            return _whole(refusal(request, request_entity_too_large(MAX_BODY_BYTES)))
        request = request._replace(body=body)
        if seconds := self._engine.delay(request):
            at = self._clock.time() + seconds
            self._set_timer(at)
            await self._held.wait_until(at)
        return await self._handle(incoming, request)

    async def _handle(self, incoming: web.BaseRequest, request: Request) -> web.StreamResponse:
        try:
            answer = self._engine.begin(request)
            if isinstance(answer, Work):
                work = answer
                answer = await aside(lambda: self._engine.finish(work), late=self._close)
        except LostAnswerError:
            return _broken(incoming)
        except NoAnswerError:
            await self._held.wait_in_silence()
            return _broken(incoming)
        if isinstance(answer, Stream):
            return await self._stream(incoming, answer)
        return await _sent(incoming, answer)

    def _close(self, answer: Response | Stream) -> None:
        """Close a watch whose client disconnected before the answer was ready."""
        if isinstance(answer, Stream):
            self._engine.close(answer.watcher)

    def _answers_for(self, host: str) -> bool:
        names = self._names
        return names is None or host in names or host.rpartition(":")[0] in names

    async def _stream(self, incoming: web.BaseRequest, stream: Stream) -> web.StreamResponse:
        response, framing = watch_answer(incoming, stream.headers)
        if framing is None:
            self._engine.close(stream.watcher)
            return response
        try:
            await response.prepare(incoming)
            transport = incoming.transport
            if transport is None:
                return response
            pump = WatchPump(stream.watcher, transport, framing)
            self._pumps[stream.watcher] = pump
            for _, lines in self._engine.take_due([stream.watcher]):
                pump.send(lines)
            self._set_timer(stream.watcher.next_wake())
            async with _listening(response, pump):
                while not pump.over:
                    self.schedule()  # more lines may be due
                    await pump.halt(incoming.writer)
        finally:
            self._pumps.pop(stream.watcher, None)
            self._engine.close(stream.watcher)
        with contextlib.suppress(ConnectionError):  # a fault or the client has closed the connection
            await response.write_eof()
        return response

    def _turn(self) -> None:
        """Perform a pass: run the controllers, write the lines of every watch, and set the next timer."""
        with self._lock:
            self._scheduled = False
        wake = self._tick()
        taken = self._engine.take_due(self._pumps)
        for watcher, lines in taken:
            self._pumps[watcher].send(lines)
        if any(len(lines) >= BATCH for _, lines in taken):
            self.schedule()
        if self._engine.is_waiting:  # settle() schedules the next pass when it is done
            in_thread(self._engine.settle)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for at in (wake, self._engine.next_wake(), self._held.wake(self._clock.time())):
            if at is not None:
                self._set_timer(at)

    def _tick(self) -> float | None:
        """Run the controllers that are due. If one raises an error, log it and retry a second later."""
        try:
            return self._engine.tick(rounds=1)  # so that requests are answered between rounds
        except Exception:
            log.exception("a controller of the sandbox failed")
            return self._clock.time() + _RETRY_SECONDS

    def _set_timer(self, wake: float) -> None:
        """Schedule a pass at a unix time, unless one is already scheduled for an earlier time."""
        if wake == inf:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + max(0.0, wake - self._clock.time())
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._turn)


@contextlib.asynccontextmanager
async def _listening(response: web.StreamResponse, pump: WatchPump) -> AsyncIterator[None]:
    """Answer the pings of a WebSocket, and finish the pump when the client closes the WebSocket."""
    if not isinstance(response, web.WebSocketResponse):
        yield
        return

    async def listen() -> None:
        async for _ in response:
            pass  # ignore whatever clients send
        pump.finish()

    listening = asyncio.ensure_future(listen())
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def _headers(incoming: web.BaseRequest) -> dict[str, str]:
    """Return the headers by lower-case name. The values of a repeated Impersonate header are joined."""
    headers: dict[str, str] = {}
    for name, value in incoming.headers.items():
        # Answers may quote the value, so replace invalid UTF-8 bytes by U+FFFD, as Go does.
        key, text = name.lower(), value.encode(errors="surrogateescape").decode(errors="replace")
        several = key in headers and key.startswith("impersonate-")
        headers[key] = f"{headers[key]}\n{text}" if several else text
    return headers


def _not_understood() -> web.Response:
    """Return the answer to a request with invalid percent escapes or a truncated or malformed body."""
    response = web.Response(status=400, text="400 Bad Request")
    response.force_close()
    return response


async def _rounds() -> None:
    """Let the loop run the callbacks that are ready, and those that they schedule."""
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)


def _broken(incoming: web.BaseRequest) -> web.Response:
    """Break the connection. Return an empty response, because aiohttp requires a response."""
    if incoming.transport is not None:
        break_connection(incoming.transport, reset=True)
    return web.Response()


async def _sent(incoming: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Send an answer. A long answer is sent in blocks, so that other requests run in the meantime."""
    if incoming.method == "HEAD" or response.size <= _WHOLE_BYTES:
        return _whole(response)
    answer = web.StreamResponse(status=response.status, headers=response.headers)
    answer.content_length = response.size
    await answer.prepare(incoming)
    for block in response.blocks(_BLOCK_BYTES):
        await answer.write(block)
    await answer.write_eof()
    return answer


def _whole(response: Response) -> web.Response:
    return web.Response(status=response.status, headers=response.headers, body=response.content())
