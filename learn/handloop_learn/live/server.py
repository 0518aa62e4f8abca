"""
Serves the live page, its stream of steps, and pages for debugging a controller.

    GET  /debug/live/            the page
    GET  /debug/live/events      the stream: a snapshot, then steps and states
    GET  /debug/live/data.js     the page's data: the scenes, and the source of the steps
    POST /debug/live/controls/X  carry out the experiment X
    GET  /debug/state            the snapshot
    GET  /debug/compare          the differences between the caches and the API server
    GET  /debug/stacks           the stacks of all threads
    GET  /debug/why?name=NS/NAME why an object is not being reconciled

Threads: `live-server` runs the event loop. Blocking calls run on threads of the loop's pool.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final
from weakref import WeakSet

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp_sse import EventSourceResponse
from cachetools import LRUCache
from msgspec.json import decode

from handloop.controller.runtime.serving.listening import listen_error
from handloop.picture.explain import document
from handloop.picture.page_data import NAME, PAGE, page_data, page_file
from handloop.picture.parts import Parts
from handloop.picture.recorder import RING, Recorder, Step
from handloop.picture.snapshot import snapshot
from handloop.seams.logs import ROOT
from handloop.seams.threads import Joinable, Spawn, spawn_thread
from handloop_learn.live.comparison import compare
from handloop_learn.live.control_error import ControlError
from handloop_learn.live.controls import Controls
from handloop_learn.live.guard import HEADERS, Guard, guarded
from handloop_learn.live.scenes import scenes
from handloop_learn.live.stacks import stacks
from handloop_sandbox.accepting import accept

_aiohttp_log: Final = logging.getLogger(f"{ROOT}.live")

MOST_VIEWERS: Final = 64
MOST_OTHERS: Final = 64
HEAD_SECONDS: Final = 10.0
TICK_SECONDS: Final = 0.05
STATE_SECONDS: Final = 0.5
LINGER_SECONDS: Final = 10.0
HEARTBEAT_SECONDS: Final = 15.0
SEND_SECONDS: Final = 30.0
RETRY_MILLISECONDS: Final = 1000
_STEPS_PER_MESSAGE: Final = 500
_NUMBER: Final = re.compile("[0-9]{1,18}")
_STOP_SECONDS: Final = 1.0
_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


class LiveServer:
    """
    Serves the live page. The constructor binds the socket, so that a port in use is reported at once.

    State: show sets _parts, _controls and _kept once, on the program's thread. end or stop sets
    _why_it_ends. Everything else is used only by the event loop. Threads: only the program's thread calls
    start, show, end and stop.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        names: Collection[str] | None,
        controls: bool,
        recorder: Recorder | None = None,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """
        Bind the socket, but do not serve yet.

        Args: names contains the host names that a request can have; None = any, if the address is not
        loopback. Raises: ListenError if the address cannot be used, and ValueError if other machines could
        reach the controls.
        """
        if controls and names is None:
            raise ValueError(
                "controls are allowed only on a loopback address, because other machines could use them here"
            )
        self._recorder = recorder or Recorder()
        self._spawn = spawn
        self._guard = Guard(names, controls=controls)
        self._run = secrets.token_hex(4)
        self._parts: Parts | None = None
        self._controls: Controls | None = None
        self._with_controls = controls
        self._kept: Callable[[Any], Any] = _unchanged
        self._viewers = 0
        self._connections: WeakSet[asyncio.BaseTransport] = WeakSet()
        self._texts: LRUCache[int, str] = LRUCache(RING)
        self._state = ""
        self._state_until = 0.0
        self._why_it_ends = ""
        self._thread: Joinable | None = None
        self._serving = threading.Event()
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            raise listen_error(error, host, port, "the live page") from error
        self._host = host

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The page's URL. If the server listens on all interfaces, this is the loopback address."""
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._host, self._host)  # noqa: S104 - compared
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{host}:{self.port}/debug/live/"

    def show(
        self, parts: Parts, controls: Controls | None = None, kept: Callable[[Any], Any] | None = None
    ) -> None:
        """
        Show these parts from now on. Before the first call, the page has no state to show.

        Args: controls carries out experiments on the parts; None = no experiments. kept converts an object
        into the form in which the caches store it.
        """
        self._kept = kept or _unchanged
        self._controls = controls if self._with_controls else None
        self._parts = parts

    def start(self) -> None:
        """
        Serve on a separate thread.

        Blocks: until requests are accepted.
        """
        self._thread = self._spawn("live-server", lambda: asyncio.run(self._serve()))
        self._serving.wait()

    def end(self, why: str) -> None:
        """Show the viewers why the program is ending. Only the first call's reason is shown."""
        self._why_it_ends = self._why_it_ends or why

    def stop(self) -> None:
        """
        End every stream with the last steps and state, undo the experiments' changes, and close the socket.

        Blocks: until the server's thread has ended, for about a second at most.
        """
        self.end("the program was stopped")
        loop, stopping = self._loop, self._stopping
        if self._thread is not None and loop is not None and stopping is not None:
            with suppress(RuntimeError):  # the loop has already ended
                loop.call_soon_threadsafe(stopping.set)
            self._thread.join()
        self._recorder.close()
        if self._controls is not None:
            self._controls.undo_all()
        self._socket.close()

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(middlewares=[guarded(self._guard)])
        app.add_routes(
            [
                web.get("/", _to_the_page),
                web.get("/favicon.ico", _nothing),
                web.get("/debug/live", _to_the_page),
                web.get("/debug/live/events", self._events),
                web.get(f"/debug/live/{NAME}", _data),
                web.post("/debug/live/controls/{name}", self._act),
                web.get(r"/debug/live/{name:([a-z]+\.[a-z]+)?}", self._page_file),
                web.get("/debug/state", self._show_state),
                web.get("/debug/compare", self._compare),
                web.get("/debug/stacks", _stacks),
                web.get("/debug/why", self._why),
            ]
        )
        runner = web.AppRunner(
            app,
            access_log=None,
            logger=_aiohttp_log,
            auto_decompress=False,
            keepalive_timeout=HEAD_SECONDS,  # also limits the time for the head of the first request
            shutdown_timeout=_STOP_SECONDS,
        )
        await runner.setup()
        assert runner.server is not None
        listener = await accept(partial(self._admitted, runner.server), _aiohttp_log, self._socket)
        self._serving.set()
        try:
            await self._stopping.wait()
        finally:
            listener.close()
            await runner.cleanup()
            self._abort_connections()
            await asyncio.sleep(0)

    def _admitted(self, server: web.Server) -> RequestHandler:
        """Accept a connection. If too many connections have no viewer, close the oldest one of them."""
        open_ones = [one.transport for one in server.connections if one.transport is not None]
        others = [one for one in open_ones if not one.is_closing() and one not in self._connections]
        if len(others) >= MOST_OTHERS:
            others[0].abort()
        return server()

    def _abort_connections(self) -> None:
        """Abort the connections of viewers that do not read. Their unread bytes would keep them open."""
        for connection in self._connections:
            if isinstance(connection, asyncio.WriteTransport):
                connection.abort()

    # the stream

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send a viewer a snapshot, or the steps that it has missed. Then send all later messages."""
        if self._viewers >= MOST_VIEWERS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_VIEWERS} viewers are already connected\n")
        response = EventSourceResponse(
            headers=HEADERS, ping_interval=HEARTBEAT_SECONDS, send_timeout=SEND_SECONDS
        )
        # The library has replaced our value with its own.
        response.headers["Cache-Control"] = HEADERS["Cache-Control"]
        await response.prepare(request)
        assert request.transport is not None
        self._connections.add(request.transport)
        # A browser that disconnects is not an error.
        with suppress(ConnectionError, TimeoutError):
            async with response, self._viewing() as newest:
                await self._tell(response, self._resumed(request), newest)
        return response

    @asynccontextmanager
    async def _viewing(self) -> AsyncIterator[int]:
        """Count a viewer. After it leaves, steps are recorded for a little longer, in case it returns."""
        self._viewers += 1
        newest = self._recorder.join()
        try:
            yield newest
        finally:
            self._viewers -= 1
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._recorder.leave)

    def _resumed(self, request: web.Request) -> int | None:
        """Return the cursor of a viewer that reconnects; None if it is new, or knew another process."""
        run, _, seq = request.headers.get("Last-Event-ID", "").partition("-")
        return int(seq) if run == self._run and _NUMBER.fullmatch(seq) else None

    async def _tell(self, response: EventSourceResponse, resumed: int | None, newest: int) -> None:
        cursor, shown, told = newest if resumed is None else resumed, "", False
        if resumed is None:
            await self._send_snapshot(response, cursor, 0)
        while True:
            stops = await self._stops_within(TICK_SECONDS)
            batch = self._recorder.after(cursor, _STEPS_PER_MESSAGE)
            cursor = batch.cursor
            if batch.missed != 0:
                await self._send_snapshot(response, cursor, batch.missed)
                continue
            if batch.steps:
                text = f"[{','.join(map(self._step_text, batch.steps))}]"
                await response.send(text, id=self._id(cursor), event="steps")
                if stops:
                    continue
            is_end = stops or (bool(self._why_it_ends) and not told)
            if is_end:
                self._state_until = 0.0
            # Send the state even while steps arrive, because it shows the effect of most experiments.
            if (state := self._state_text()) != shown:
                shown = state
                await response.send(state, event="state")
            if is_end and not told:
                told = True
                await response.send(json.dumps({"reason": self._why_it_ends}), event="end")
            if stops:
                return

    async def _send_snapshot(self, response: EventSourceResponse, cursor: int, missed: int | None) -> None:
        text = f'{{"run": "{self._run}", "missed": {json.dumps(missed)}, "state": {self._state_text()}}}'
        await response.send(text, id=self._id(cursor), event="snapshot", retry=RETRY_MILLISECONDS)

    def _id(self, cursor: int) -> str:
        return f"{self._run}-{cursor}"

    async def _stops_within(self, seconds: float) -> bool:
        assert self._stopping is not None
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    def _step_text(self, step: Step) -> str:
        """Return a step as JSON, which is created once for all viewers."""
        text = self._texts.get(step.seq)
        if text is None:
            text = self._texts[step.seq] = json.dumps(document(step), default=str)
        return text

    def _state_text(self) -> str:
        """Return the state as JSON, which is created at most twice a second, for all viewers."""
        now = asyncio.get_running_loop().time()
        if now >= self._state_until:
            self._state, self._state_until = json.dumps(self._snapshot()), now + STATE_SECONDS
        return self._state

    def _snapshot(self) -> dict[str, Any]:
        controls = [] if self._controls is None else self._controls.offers()
        seq = self._recorder.newest
        return snapshot(self._parts, self._recorder.steps) | {"seq": seq, "controls": controls}

    # the pages

    async def _page_file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"] or "index.html"
        if not PAGE.joinpath(name).is_file():
            raise web.HTTPNotFound(text="404 page not found\n")
        text = page_file(name, token=self._guard.token if self._with_controls else "")
        return web.Response(text=text, content_type=_TYPES[name.rpartition(".")[2]], charset="utf-8")

    async def _show_state(self, _request: web.Request) -> web.Response:
        return _json(self._snapshot())

    async def _compare(self, _request: web.Request) -> web.Response:
        if self._parts is None:
            raise web.HTTPServiceUnavailable(text="the controllers have not started yet\n")
        return _json(await asyncio.to_thread(compare, self._parts, self._kept))

    async def _why(self, request: web.Request) -> web.Response:
        if self._parts is None:
            raise web.HTTPServiceUnavailable(text="the controllers have not started yet\n")
        query = {key: list(request.query.getall(key)) for key in request.query}
        status, _, body = await asyncio.to_thread(self._parts.manager.why_page(), query)
        return web.Response(status=status, text=body.decode())

    async def _act(self, request: web.Request) -> web.Response:
        if self._controls is None:
            raise web.HTTPServiceUnavailable(text="the controllers have not started yet\n")
        try:
            wanted = decode(await request.read(), type=dict[str, str | int])
            said = await asyncio.to_thread(self._controls.act, request.match_info["name"], wanted)
        except (ControlError, ValueError, web.RequestPayloadError) as error:
            raise web.HTTPConflict(text=f"{error}\n") from error
        return _json({"said": said})


async def _to_the_page(_request: web.Request) -> web.Response:
    raise web.HTTPFound("/debug/live/")


async def _nothing(_request: web.Request) -> web.Response:
    return web.Response(status=204)


async def _data(_request: web.Request) -> web.Response:
    return web.Response(text=page_data(scenes=scenes()), content_type=_TYPES["js"], charset="utf-8")


async def _stacks(_request: web.Request) -> web.Response:
    return web.Response(text=stacks())


def _json(value: object) -> web.Response:
    return web.json_response(value, dumps=lambda what: json.dumps(what, indent=1))


def _unchanged(obj: Any) -> Any:
    return obj
