"""
Sends requests to the API server, limits their rate, retries them, raises errors and reports metrics.

This module follows the API's rules, but treats all kinds alike. Each request also records whether the server
answers. While a server is unreachable, each component that needs it backs off separately, for up to half a
minute. The first request that the server answers ends the back-off of all components.
Threads: any thread can use these classes.
"""

from __future__ import annotations

import math
import re
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from copy import copy
from functools import cache
from typing import Final, NamedTuple, Self, TypeVar
from urllib.parse import unquote, urlsplit

from handloop.client.errors import (
    MAX_WAIT_SECONDS,
    APIError,
    Cancelled,
    ConnectionBroken,
    NotAcceptable,
    TooManyRequests,
    TransportError,
    error_from_status,
    is_too_large_resource_version,
)
from handloop.client.errors.status import status_from_body
from handloop.client.http.response import Response, Stream
from handloop.client.request_reports import (
    NO_METRICS,
    RequestMetrics,
    ServerWarnings,
    log_answer,
    log_body,
)
from handloop.client.transport import Transport
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_condition
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.step_trace import TRACE
from handloop.seams.tracing import TRACING
from handloop.workqueue.rate_limiters import TokenBucket

log = get_logger("client")

A = TypeVar("A")
_FAILED: Final = 400
MAX_RETRIES: Final = 10
_LOST_SECONDS: Final = 1.0
_JITTER: Final = 0.1
_SERVER_ERROR: Final = 500
_SECONDS = re.compile(r"\d{1,9}", re.ASCII)
_DEFAULT_BURST: Final = 10
_SAID_WAIT_SECONDS: Final = 1.0
_NO_ANSWER: Final = "<error>"
_DROP: Final = ";drop=metadata.managedFields"
_HOLDER: Final = re.compile(rb'"holderIdentity":"([^"]*)"')


class Call(NamedTuple):
    """
    One request, with the names that messages about it use.

    path is percent-encoded; verb, resource (`plural.group`), kind, namespace and name are for messages.
    drop_managed_fields is true if managedFields in the response are not used, so that the server can omit
    them (KEP-5958).
    """

    verb: str
    method: str
    path: str
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    resource: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    timeout_seconds: float | None = None
    drop_managed_fields: bool = False

    @property
    def subresource(self) -> str:
        """The subresource of the named object, such as `status`, or "" for the object itself."""
        above, _, last = self.path.rpartition("/")
        plural = self.resource.partition(".")[0]
        # The path has the name percent-encoded, as in system%3Anode. An object may be named like a
        # subresource, so the name is expected directly below the plural.
        is_name = unquote(last) == self.name and (not plural or above.endswith(f"/{plural}"))
        return last if self.name and not is_name else ""

    @property
    def read(self) -> bool:
        """Whether the request changes nothing."""
        return self.method == "GET"

    @property
    def writes(self) -> bool:
        """Return True if an accepted request changes something, and so is neither a read nor a dry run."""
        return not self.read and "dryRun" not in self.query


OnWrite = Callable[[Call, Response], None]
OnSend = Callable[[Call], None]
"""Called with a write and the server's response, once the server has accepted the write."""


class RESTClient:
    """
    Sends calls over a transport.

    Args: qps and burst limit our own requests (0 means no limit); opening a watch is not limited. stop
    cancels waits (for a Retry-After or the rate limit): pass the event that stops the program. A component
    that must continue after this event uses `client.until(its_own_event)`. reachability records whether
    requests are answered; clients of the same server can share it. With drop_managed_fields=False, the server
    sends managedFields even if they are not used.

    State: _whole_objects is set permanently once a server has refused to omit managedFields.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        qps: float = 0,
        burst: int = 0,
        seams: Seams = REAL_SEAMS,
        metrics: RequestMetrics = NO_METRICS,
        user_agent: str = "",
        stop: threading.Event | None = None,
        reachability: Reachability | None = None,
        drop_managed_fields: bool = True,
    ) -> None:
        self._transport = transport
        self.reachability = Reachability(clock=seams.clock) if reachability is None else reachability
        self._bucket = TokenBucket(qps, burst or _DEFAULT_BURST, seams.clock) if qps > 0 else None
        self.clock = seams.clock
        self._random = seams.random
        self._metrics = metrics
        self._headers = {"Accept": "application/json", "User-Agent": user_agent or default_user_agent()}
        never = threading.Event()
        self._stop: Callable[[], threading.Event] = lambda: stop or never
        self._warnings = ServerWarnings()
        self._patience_seconds = math.inf
        # An event, unlike a bool, is shared by copies of this client.
        self._whole_objects = threading.Event()
        if not drop_managed_fields:
            self._whole_objects.set()
        self._on_write: OnWrite | None = None
        self._on_send: OnSend | None = None
        # an in-process transport has no host
        self._host = str(getattr(transport, "host", "")).partition("://")[2]

    def __repr__(self) -> str:
        host = getattr(self._transport, "host", "") or "a transport in process"
        return f"<{type(self).__name__} of {host}>"

    def until(
        self, stop: threading.Event | Callable[[], threading.Event], *, patience_seconds: float | None = None
    ) -> Self:
        """
        Return a client with the same rate limit, whose waits end when stop is set.

        Args: stop can be a function, called on the waiting thread, that returns the event for each wait.
        patience_seconds limits the total wait of a request: if the server requests a longer wait, its error
        response is raised at once. None keeps the current limit.
        """
        client = copy(self)
        client._stop = stop if callable(stop) else lambda: stop  # noqa: SLF001 - it is our own class
        if patience_seconds is not None:
            client._patience_seconds = patience_seconds  # noqa: SLF001 - it is our own class
        return client

    def telling(self, on_write: OnWrite, *, on_send: OnSend | None = None) -> Self:
        """
        Return a client with the same rate limit, which also calls on_write for each accepted write.

        Args: on_write is called on the writing thread before the write returns, and must not raise. It is not
        called for a dry run, or for a write without a complete response. on_send is called before each write,
        and replaces that of this client.
        """
        client = copy(self)
        client._on_send = on_send or self._on_send  # noqa: SLF001 - it is our own class
        before = self._on_write

        def tell(call: Call, response: Response) -> None:
            if before is not None:
                before(call, response)
            on_write(call, response)

        client._on_write = tell  # noqa: SLF001 - it is our own class
        return client

    def wrap(self, wrapper: Callable[[Transport], Transport]) -> Self:
        """Return a client with the same rate limit, over the transport that wrapper returns."""
        client = copy(self)
        client._transport = wrapper(self._transport)  # noqa: SLF001 - it is our own class
        return client

    def send(self, call: Call) -> Response:
        """
        Send a call and return the server's response, unless that is an error.

        Raises: APIError, TransportError, after the retries that the server requested.
        Blocks: during the attempts, the waits between them and the rate limit's wait. stop ends the waits.
        """
        return self._as_served(call, self._send)

    def _send(self, call: Call) -> Response:
        if self._on_send is not None and call.writes:
            self._on_send(call)
        patience = self._patience_seconds
        for attempt in range(MAX_RETRIES + 1):
            self._wait_for_turn(call)
            try:
                response = self._attempt(call)
            except (APIError, TransportError) as error:
                wait = wait_before_retry(error, read=call.read, uniform=self._random())
                if wait is None or wait > patience or attempt == MAX_RETRIES or self._stop().is_set():
                    raise
                patience -= wait
                code = str(error.code) if isinstance(error, APIError) else _NO_ANSWER
                # Log a wait for the server's Retry-After at -v 4. Log any other wait at -v 2, because the
                # server did not ask for it.
                level = 2 if isinstance(error, TransportError) else 4
                log.debug("Waiting before a retry", v=level, request=call.path, seconds=wait, err=str(error))
                if self.clock.sleep(wait, self._stop()):
                    raise
            else:
                if self._on_write is not None and call.writes:
                    self._on_write(call, response)
                return response
            self._metrics.request_retry(code=code, verb=call.method, host=self._host)
        raise AssertionError("the last attempt returns or raises")

    def open(self, call: Call) -> Stream:
        """
        Return an open stream, after checking that the server did not respond with an error.

        Neither the rate limit nor a Retry-After delays this call, because its caller has its own,
        interruptible back-off.

        Raises: APIError, TransportError.
        """
        return self._as_served(call, self._open)

    def _as_served(self, call: Call, send: Callable[[Call], A]) -> A:
        """Send a call. If dropping managedFields causes a 406, send it again, and stop dropping them."""
        if self._whole_objects.is_set():
            call = call._replace(drop_managed_fields=False)
        try:
            return send(call)
        except NotAcceptable:
            if not call.drop_managed_fields:
                raise
            self._whole_objects.set()
            return send(call._replace(drop_managed_fields=False))

    def _open(self, call: Call) -> Stream:
        started_at = self.clock.now()
        try:
            stream = self._transport.stream(
                call.method, call.path, query=call.query, headers=self._headers_of(call)
            )
            if stream.status >= _FAILED:
                with closing(stream):
                    response = Response(stream.status, stream.headers, stream.read_all())
                self._finish(call, started_at, str(stream.status))
                raise self._error(call, response)
        except TransportError as error:
            self._unanswered(call, started_at, error)
            raise
        self._finish(call, started_at, str(stream.status))
        return stream

    def _attempt(self, call: Call) -> Response:
        headers = self._headers_of(call)
        response = self._traced(call, headers) if TRACING.on else self._exchange(call, headers)
        if response.status >= _FAILED:
            raise self._error(call, response)
        return response

    def _traced(self, call: Call, headers: dict[str, str]) -> Response:
        """
        Make one attempt, with its own span if the thread is inside a span.

        Lists that fill caches run outside of spans.
        """
        server = urlsplit(str(getattr(self._transport, "host", "")))
        facts: dict[str, str | int] = {
            "http.request.method": call.method,
            "url.full": f"{server.geturl()}{call.path}",
            "server.address": server.hostname or "",
        }
        with TRACING.tracer.request(f"{call.verb} {call.resource}", facts, headers) as span:
            response = self._exchange(call, headers)
            failed = str(response.status) if response.status >= _FAILED else ""
            span.tell({"http.response.status_code": response.status}, failed=failed)
        return response

    def _exchange(self, call: Call, headers: dict[str, str]) -> Response:
        started_at = self.clock.now()
        log_body("Request body", call.path, call.body or b"")
        try:
            response = self._transport.request(
                call.method,
                call.path,
                query=call.query,
                headers=headers,
                body=call.body,
                timeout_seconds=call.timeout_seconds,
            )
        except TransportError as error:
            self._unanswered(call, started_at, error)
            raise
        self._finish(call, started_at, str(response.status))
        self._metrics.request_size(verb=call.method, host=self._host, size=len(call.body or b""))
        self._metrics.response_size(verb=call.method, host=self._host, size=len(response.body))
        log_body("Response body", call.path, response.body)
        self._warnings.hear(response.headers, call.resource)
        return response

    def _headers_of(self, call: Call) -> dict[str, str]:
        headers = {**self._headers, **call.headers}
        if call.drop_managed_fields:
            headers["Accept"] += _DROP
        return headers

    def _unanswered(self, call: Call, started_at: float, error: TransportError) -> None:
        error.returns_seen = self.reachability.lost()
        self._finish(call, started_at, _NO_ANSWER)

    def _finish(self, call: Call, started_at: float, code: str) -> None:
        if code != _NO_ANSWER:
            self.reachability.answered()
        seconds = self.clock.now() - started_at
        self._metrics.request_total(code=code, method=call.method, host=self._host)
        self._metrics.request_duration(verb=call.method, host=self._host, seconds=seconds)
        if TRACE.on and (not call.read or TRACE.has_key()):
            key = f"{call.namespace}/{call.name}"
            TRACE.tell(10, call.resource, key, verb=call.verb, code=code, seconds=seconds, **_facts_of(call))
        log_answer(verb=call.method, url=self._host + call.path, status=code, seconds=seconds)

    def _error(self, call: Call, response: Response) -> APIError:
        return error_from_status(
            status_from_body(response.body, response.status),
            verb=call.verb,
            resource=call.resource,
            kind=call.kind,
            namespace=call.namespace,
            name=call.name,
            retry_after_seconds=retry_after_seconds(response.headers),
        )

    def _wait_for_turn(self, call: Call) -> None:
        if self._bucket is None:
            return
        wait = self._bucket.reserve()
        if wait > _SAID_WAIT_SECONDS:
            log.info(
                "Waited before sending request", delay=wait, reason="client-side throttling", verb=call.method
            )
        if wait > 0 and self.clock.sleep(wait, self._stop()):
            raise Cancelled("the client was stopped", host=self._host, request=f"{call.method} {call.path}")
        self._metrics.rate_limiter_duration(verb=call.method, host=self._host, seconds=wait)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the server's Retry-After in seconds, or None if it is absent or not a whole number."""
    text = headers.get("Retry-After", "").strip()
    return float(text) if _SECONDS.fullmatch(text) else None


def wait_before_retry(error: APIError | TransportError, *, read: bool, uniform: float) -> float | None:
    """
    Return the seconds to wait before sending the request again, or None if it must not be retried.

    Args: read is true if the request changes nothing. uniform is a random number in [0, 1), which spreads out
    the retries of clients that received the same response.
    """
    if isinstance(error, TransportError):
        return _LOST_SECONDS if read and isinstance(error, ConnectionBroken) else None
    wait = error.retry_after_seconds
    if wait is None or is_too_large_resource_version(error):
        return None
    if isinstance(error, TooManyRequests) or (read and error.code >= _SERVER_ERROR):
        return min(wait, MAX_WAIT_SECONDS) * (1 + _JITTER * uniform)
    return None


def _facts_of(call: Call) -> dict[str, str]:
    """Return facts about a request for the live page: the kind and, when a lease is written, its holder."""
    holder = _HOLDER.search(call.body or b"") if call.kind == "Lease" else None
    return {"kind": call.kind} | ({"holder": holder[1].decode()} if holder else {})


@cache
def default_user_agent() -> str:
    """Return the User-Agent of this installation."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"handloop/{_version()} ({sys.platform}) python/{python}"


def _version() -> str:
    # Import this here, because the import costs more than the rest of the module.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("handloop")
    except PackageNotFoundError:
        return "0.0.0+source"


class Reachability:
    """
    Tracks whether one server answers.

    State: _lost is true if the newest request had no response. _returns counts how many times the server has
    become reachable again. _changed guards both.
    Threads: any thread can use this object.
    """

    def __init__(self, *, clock: Clock = REAL_CLOCK) -> None:
        self._clock = clock
        self._changed = new_condition("Reachability._changed", 97)
        self._lost = False
        self._returns = 0

    def lost(self) -> int:
        """
        Record a request without a response.

        Returns: how many times the server has become reachable again so far.
        """
        with self._changed:
            self._lost = True
            return self._returns

    def answered(self) -> None:
        """Record an answered request."""
        with self._changed:
            if self._lost:
                self._lost = False
                self._returns += 1
                self._changed.notify_all()

    def wait_for_return(self, seconds: float, stop: threading.Event, *, seen: int | None = None) -> bool:
        """
        Wait until the server becomes reachable again.

        Args: seen is the result of lost() for the failed request. If the server has become reachable since
        then, the wait ends at once. If seen is None, the server must become reachable during the wait.
        Returns: False if the time has passed or stop is set.
        Blocks: until the server becomes reachable again, the time has passed or stop is set. After setting
        stop, call wake().
        """
        give_up_at = self._clock.now() + seconds
        with self._changed:
            returns = self._returns if seen is None else seen
            while self._returns == returns and not stop.is_set():
                if not self._clock.wait_until(self._changed, give_up_at):
                    return False
            return not stop.is_set()

    def wake(self) -> None:
        """Let waiters check their stop events."""
        with self._changed:
            self._changed.notify_all()
