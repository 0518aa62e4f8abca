"""
A client transport without sockets, which answers requests in the calling thread.

It implements the client package's Transport protocol, but does not import that package. To raise the client's
exceptions, a caller passes functions that create them.
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
    """Raised when a stream is read after close(), or is closed during a read."""


class SilenceError(Exception):
    """Raised when a request or stream has received no data for longer than its timeout."""


class BrokenConnectionError(Exception):
    """Raised when a fault breaks the connection. The request may or may not have been carried out."""


class Fields(Mapping[str, str]):
    """Header fields with case-insensitive names."""

    def __init__(self, items: Iterable[tuple[str, str]]) -> None:
        self._fields = {name.lower(): value for name, value in items}

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class WholeAnswer(NamedTuple):
    """A complete answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class InProcessTransport:
    """
    Passes requests to an engine in the calling thread.

    State: _waiting maps the watch of each sleeping reader to the condition that wakes the reader. _commits
    counts changes, so that a reader notices a change that is made just before the reader sleeps. _lock guards
    both; all conditions share it.
    Threads: any thread can use it. The reader of a stream sleeps until its watch has lines to send or a
    deadline has passed.
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
        Args: closed, silent and broken create the exceptions to raise for a closed stream, a timeout and a
        connection that a fault breaks. longest_wait_seconds limits how long a reader sleeps, in real time,
        before it checks the clock again, because moving the clock does not wake it.
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
        # Listen weakly, because most transports are never closed.
        engine.listen_weakly(self.wake)

    def close(self) -> None:
        """Stop listening for changes. Streams that are still open then poll for changes every second."""
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
        Answer a request. The answer to a watch contains only the lines that are available now.

        Raises: the exception that silent creates, after a timeout; the one that broken creates, if a fault
        breaks the connection.
        Blocks: while a fault delays or withholds the answer, for at most timeout_seconds (30 if None) on the
        sandbox's clock.
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
        """Send a request, and return its answer as a stream to read in chunks."""
        answer = self._handle(self._request(method, path, query, headers, None), _REQUEST_SECONDS)
        seconds = _READ_SECONDS if read_timeout_seconds is None else read_timeout_seconds
        return InProcessStream(self, answer, seconds)

    def wake(self) -> None:
        """Wake the readers whose watches have lines to send. Threads: any thread can call it."""
        with self._changed:
            self._commits += 1
            self._changed.notify_all()
            waiting = [*self._waiting]
        if waiting:
            self._wake(self._engine.due(waiting))

    def read(self, stream: InProcessStream, watcher: WatchOutput, seconds: float) -> bytes:
        """Return the next lines of a watch, or b"" at its end. Called by InProcessStream."""
        until = self._clock.time() + seconds
        while True:
            with self._changed:
                seen = self._commits
            if stream.is_closed:
                raise self._closed("the stream was closed")
            if lines := self._engine.take(watcher):
                return b"".join(lines)
            if watcher.broken:
                raise self._broken("a fault broke the connection")
            if watcher.ended:
                return b""
            now = self._clock.time()
            if now >= until:
                raise self._silent(f"no data for {seconds:g} s")
            wake = self._engine.faults.next_wake()
            at = min(watcher.next_wake(), until, math.inf if wake is None else wake)
            self._wait(watcher, seen, at - now)

    def end(self, watcher: WatchOutput) -> None:
        """Close a watch. Called by InProcessStream."""
        self._engine.close(watcher)
        self._wake([watcher])

    def _wake(self, watchers: Iterable[WatchOutput]) -> None:
        with self._changed:
            self._commits += 1
            for watcher in watchers:
                if watcher in self._waiting:
                    self._waiting[watcher].notify_all()

    def _handle(self, request: Request, seconds: float) -> Response | Stream:
        """Carry out a request and apply the faults. Time out after this many seconds on the clock."""
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
    """An answer that is read in chunks. Threads: one thread reads it; any thread can close it."""

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
        Return the next bytes, or b"" at the end of the answer.

        Raises: the exception that the transport's closed, silent or broken creates, if the stream is closed,
        a timeout passes or a fault breaks the connection.
        Blocks: until at least one byte has arrived or the answer has ended.
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
        """Close the stream. A blocked reader raises the exception for a closed stream immediately."""
        self._closed.set()
        if self._watcher is not None:
            self._transport.end(self._watcher)
