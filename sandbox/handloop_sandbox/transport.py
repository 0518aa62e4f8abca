"""
The sandbox without sockets: a Transport of the client package, answered in the calling thread.

The types match the client's structurally, because this package does not import the client. A caller that
needs the client's exceptions passes functions that create them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from handloop_sandbox.clock import Clock
from handloop_sandbox.engine import Engine, Stream
from handloop_sandbox.faults.faults import LostAnswerError, NoAnswerError
from handloop_sandbox.faults.watch_output import WatchOutput
from handloop_sandbox.requests.request import Request, Response
from handloop_sandbox.wire.query import Query

_REQUEST_SECONDS: Final = 30.0
_READ_SECONDS: Final = 75.0
_LONGEST_WAIT_SECONDS: Final = 1.0


class StreamClosedError(Exception):
    """A stream was read after close(), or closed during a read."""


class SilenceError(Exception):
    """A request or a stream received nothing for longer than its timeout."""


class BrokenConnectionError(Exception):
    """The connection was cut. The request may have been carried out or not."""


class Fields(Mapping[str, str]):
    """Header fields; names are compared without case."""

    def __init__(self, items: Iterable[tuple[str, str]]) -> None:
        self._fields = {name.lower(): value for name, value in items}

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class WholeAnswer(NamedTuple):
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class InProcessTransport:
    """
    Carries requests to an engine in the calling thread.

    State: _waiting holds, by watch, the condition that wakes each sleeping reader; _commits counts the
    changes that they may have missed. Both are under the lock that all the conditions share.
    Threads: any. A reader of a stream sleeps until its watch has something to do or a deadline wakes it.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        clock: Clock,
        token: str = "",
        closed: Callable[[str], Exception] = StreamClosedError,
        silent: Callable[[str], Exception] = SilenceError,
        broken: Callable[[str], Exception] = BrokenConnectionError,
        longest_wait_seconds: float = _LONGEST_WAIT_SECONDS,
    ) -> None:
        """
        Args: closed creates the exception for a closed stream, silent for a timeout, and broken for a
        connection that a fault breaks. longest_wait_seconds is the longest that a reader sleeps, in real
        time, because moving the clock does not wake it.
        """
        self._engine = engine
        self._clock = clock
        self._token = token
        self._closed = closed
        self._silent = silent
        self._broken = broken
        self._longest_wait_seconds = longest_wait_seconds
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._commits = 0
        self._waiting: dict[WatchOutput, threading.Condition] = {}
        # weakly, because most transports are never closed
        engine.listen_weakly(self.wake)

    def close(self) -> None:
        """Stop listening for changes. Open streams then poll for them every second."""
        self._engine.unlisten(self.wake)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_seconds: float | None = None,
        send_seconds: float = math.inf,  # noqa: ARG002 - here, sending takes no time
    ) -> WholeAnswer:
        """
        Answer a request at once, unless a fault delays it. A watch is answered with its lines so far.

        Raises: the exceptions that silent and broken create. Blocks: while a fault delays or withholds the
        answer, at most timeout_seconds (30 if None) on the clock.
        """
        seconds = _REQUEST_SECONDS if timeout_seconds is None else timeout_seconds
        answer = self._handle(self._request(method, path, query, headers, body), seconds)
        if isinstance(answer, Response):
            return WholeAnswer(answer.status, Fields(answer.headers), answer.content())
        lines: list[bytes] = []
        while taken := self._engine.take(answer.watcher):
            lines += taken
        self._engine.close(answer.watcher)
        return WholeAnswer(200, Fields(answer.headers), b"".join(lines))

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout_seconds: float | None = None,
    ) -> InProcessStream:
        """Begin a request whose response is read in chunks."""
        answer = self._handle(self._request(method, path, query, headers, None), _REQUEST_SECONDS)
        seconds = _READ_SECONDS if read_timeout_seconds is None else read_timeout_seconds
        return InProcessStream(self, answer, seconds)

    def wake(self) -> None:
        """Wake the readers whose watches have something to do. Threads: any."""
        with self._changed:
            self._commits += 1
            self._changed.notify_all()
            waiting = [*self._waiting]
        if waiting:
            self._wake(self._engine.due(waiting))

    def read(self, stream: InProcessStream, watcher: WatchOutput, seconds: float) -> bytes:
        """Return the next lines of a watch, or b"" at its end; for InProcessStream."""
        until = self._clock.time() + seconds
        while True:
            with self._changed:
                seen = self._commits
            if stream.is_closed:
                raise self._closed("the stream was closed")
            if lines := self._engine.take(watcher):
                return b"".join(lines)
            if watcher.broken:
                raise self._broken("the connection was cut by a fault")
            if watcher.ended:
                return b""
            now = self._clock.time()
            if now >= until:
                raise self._silent(f"no data for {seconds:g} s")
            wake = self._engine.faults.next_wake()
            at = min(watcher.next_wake(), until, math.inf if wake is None else wake)
            self._wait(watcher, seen, at - now)

    def end(self, watcher: WatchOutput) -> None:
        """Forget a watch; for InProcessStream."""
        self._engine.close(watcher)
        self._wake([watcher])

    def _wake(self, watchers: Iterable[WatchOutput]) -> None:
        with self._changed:
            self._commits += 1
            for watcher in watchers:
                if watcher in self._waiting:
                    self._waiting[watcher].notify_all()

    def _handle(self, request: Request, seconds: float) -> Response | Stream:
        """Carry out a request, subject to the faults, in at most this many seconds on the clock."""
        delay = self._engine.delay(request)
        if delay:
            self._sleep(min(delay, seconds))
            if delay > seconds:
                raise self._silent(f"no answer for {seconds:g} s")
        try:
            return self._engine.handle(request)
        except LostAnswerError as error:
            raise self._broken(str(error)) from error
        except NoAnswerError as error:
            self._sleep(seconds)
            raise self._silent(f"no answer for {seconds:g} s") from error

    def _sleep(self, seconds: float) -> None:
        """Wait until the clock has advanced by this many seconds."""
        until = self._clock.time() + seconds
        while (left := until - self._clock.time()) > 0:
            with self._changed:
                self._changed.wait(min(left, self._longest_wait_seconds))

    def _wait(self, watcher: WatchOutput, seen: int, seconds: float) -> None:
        with self._changed:
            if self._commits == seen:
                changed = self._waiting[watcher] = threading.Condition(self._lock)
                changed.wait(min(max(seconds, 0.0), self._longest_wait_seconds))
                del self._waiting[watcher]

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        body: bytes | None,
    ) -> Request:
        given, _, rest = path.partition("?")
        fields = {name.lower(): value for name, value in (headers or {}).items()}
        if self._token:
            fields.setdefault("authorization", f"Bearer {self._token}")
        parsed = (
            Query.parse(rest) if rest else Query({name: [value] for name, value in (query or {}).items()})
        )
        return Request(method, given, parsed, fields, body or b"")


class InProcessStream:
    """A response that is read in chunks. One thread reads; any thread may close it."""

    def __init__(self, transport: InProcessTransport, answer: Response | Stream, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._closed = threading.Event()
        self._watcher = None if isinstance(answer, Response) else answer.watcher
        self._rest = answer.content() if isinstance(answer, Response) else b""
        self.status = answer.status if isinstance(answer, Response) else 200
        self.headers: Mapping[str, str] = Fields(answer.headers)

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._closed.is_set()

    def read_block(self) -> bytes:
        """
        Return the next bytes, or b"" at a clean end.

        Raises: the exceptions that closed and silent create. Blocks: until there is at least one byte.
        """
        if self._watcher is None:
            block, self._rest = self._rest, b""
            return block
        return self._transport.read(self, self._watcher, self._seconds)

    def read_all(self) -> bytes:
        """Return the rest of the answer."""
        blocks = []
        while block := self.read_block():
            blocks.append(block)
        return b"".join(blocks)

    def close(self) -> None:
        """Close the stream; a blocked reader raises at once."""
        self._closed.set()
        if self._watcher is not None:
            self._transport.end(self._watcher)
