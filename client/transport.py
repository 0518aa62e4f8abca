"""
Transport, the interface through which the client sends requests, and HTTPTransport, which implements it.

HTTPTransport speaks HTTP/1.1 to one server. The sandbox offers another Transport that never leaves the
process. This module does not interpret kinds or JSON, ignores Retry-After, and follows no redirects.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote, urlencode, urlsplit

from handloop.client.auth.tls import KeyPair, TLSContexts
from handloop.client.config import ClientConfig
from handloop.client.errors import BadAnswer, ClientError, ConfigError, ConnectionBroken, DeadlineExceeded
from handloop.client.http.connections import Connection, Connections, Route
from handloop.client.http.exchange import Answer, Fields, HTTPStream, exchange, read_whole
from handloop.client.http.failures import FAILURES, Attempt, cause_of, explain
from handloop.client.http.response import Response, Stream
from handloop.client.http.sockets import arm
from handloop.client.request_reports import NO_METRICS, RequestMetrics, log_headers
from handloop.client.server_url import shown_server
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("client")

REQUEST_SECONDS: Final = 30.0
READ_SECONDS: Final = 75.0
BODY_LIMIT: Final = 256 << 20
_IDEMPOTENT: Final = ("GET", "HEAD")
_UNAUTHORIZED: Final = 401
_REDIRECTION: Final = 3


class Transport(Protocol):
    """Carries requests to an API server."""

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
        """
        Send a request and read its whole response, whatever its status.

        Args: path is percent-encoded, query is not. timeout_seconds limits the whole request; None means the
        default. send_seconds limits only the sending, not the wait for the response.
        Raises: TransportError, with outcome_unknown for a write that may have reached the server.
        Blocks: until the response is complete, for at most timeout_seconds.
        """

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout_seconds: float | None = None,
    ) -> Stream:
        """
        Send a request and return once the head of its response has arrived, whatever its status.

        Args: read_timeout_seconds limits the time without data in the response; None means the default.
        Raises: TransportError.
        """


class ForwardingTransport:
    """A base class for observers: forwards all calls to another Transport. Threads: any thread can use it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def host(self) -> str:
        """The server as `scheme://host:port`, or "" for a transport without a host."""
        return str(getattr(self._transport, "host", ""))

    def _before_request(self, method: str, path: str, send_seconds: float) -> float:  # noqa: ARG002
        """Prepare a request. Returns: the send_seconds to use. Raises: any error to cancel the request."""
        return send_seconds

    def _before_stream(self) -> None:
        """Called before a stream is opened."""

    def request(self, method: str, path: str, *, send_seconds: float = math.inf, **options: Any) -> Response:
        """Send a request; see Transport."""
        send_seconds = self._before_request(method, path, send_seconds)
        return self._transport.request(method, path, send_seconds=send_seconds, **options)

    def stream(self, method: str, path: str, **options: Any) -> Stream:
        """Open a stream; see Transport."""
        self._before_stream()
        return self._transport.stream(method, path, **options)


class _Request(NamedTuple):
    """
    A request as it is sent, but without credentials.

    path is for messages. It is the target without the configured server's own path, which may be a secret.
    deadline is when the response must be complete (monotonic). send_by is when the request must be sent, by
    the transport's clock; infinity means that only the deadline matters.
    """

    method: str
    path: str
    target: str
    headers: Fields
    body: bytes | None
    seconds: float
    deadline: float
    send_seconds: float = math.inf
    send_by: float = math.inf

    @property
    def words(self) -> str:
        return f"{self.method} {self.path}"


class HTTPTransport:
    """
    A handloop.client.transport.Transport over sockets.

    Every request ends by its deadline, however slowly the server responds. If the server has closed an idle
    connection, a GET is repeated once on a new connection. A write is not repeated, because its outcome is
    unknown. After a 401, rotating credentials are refreshed and the request is repeated once. Redirects are
    refused, so that a token reaches only one host.

    host is `scheme://host:port`.
    State: only Connections, TLSContexts and the credentials have state.
    Threads: any thread can use this object.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        request_seconds: float = REQUEST_SECONDS,
        read_seconds: float = READ_SECONDS,
        metrics: RequestMetrics = NO_METRICS,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Prepare the transport. No request is sent.

        Args: the clock in seams measures the age of credentials and send_seconds. Sockets use real time.
        Raises: ConfigError if certificates do not load.
        """
        url = urlsplit(config.host)
        proxy = urlsplit(config.proxy_url) if config.proxy_url else None
        contexts = TLSContexts(config.tls) if url.scheme == "https" else None
        resolved = metrics.dns_resolution_duration
        self._route = Route(url, proxy, config.tls_server_name, seams.spawn, resolved)
        self._prefix = url.path.rstrip("/")
        self._encoding = "identity" if config.disable_compression else "gzip"
        self.host = f"{url.scheme}://{url.netloc}"
        self._credentials = config.credentials
        self._impersonate = config.impersonate
        self._connections = Connections(self._route, contexts)
        self._request_seconds = request_seconds
        self._read_seconds = read_seconds
        self._clock = seams.clock
        if contexts and config.tls.insecure_skip_verify:
            log.warning("TLS verification is off: insecure-skip-tls-verify is set", host=self.host)

    def within(self, request_seconds: float) -> HTTPTransport:
        """Return a copy with the same connections, whose requests have this timeout by default."""
        other = copy(self)
        other._request_seconds = request_seconds  # noqa: SLF001 - it is our own copy
        return other

    def close(self) -> None:
        """Close idle connections. Requests and streams in progress are not interrupted."""
        self._connections.close()

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
        """
        Send a request and read its whole response; see Transport.

        Raises: TransportError, such as DeadlineExceeded if sending took longer than send_seconds.
        """
        seconds = self._request_seconds if timeout_seconds is None else timeout_seconds
        send_by = self._clock.now() + send_seconds
        request = self._prepare(method, path, query, headers, body=body, seconds=seconds)
        request = request._replace(send_seconds=send_seconds, send_by=send_by)
        return self._read(request, *self._authorized(request))

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout_seconds: float | None = None,
    ) -> HTTPStream:
        """Send a request and read the head of its response; see Transport."""
        idle_seconds = self._read_seconds if read_timeout_seconds is None else read_timeout_seconds
        request = self._prepare(method, path, query, headers, body=None, seconds=self._request_seconds)
        connection, answer = self._authorized(request)
        arm(answer.sock, deadline=None, idle_seconds=idle_seconds)
        attempt = self._attempt(request, sent=True)._replace(seconds=idle_seconds)
        return HTTPStream(connection, answer, lambda error: explain(error, attempt))

    def _prepare(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        *,
        body: bytes | None,
        seconds: float,
    ) -> _Request:
        fields = [
            *(headers or {}).items(),
            ("Accept-Encoding", self._encoding),
            *self._route.headers().items(),
            *self._impersonate,
        ]
        encoded = f"?{_encoded(tuple(query.items()))}" if query else ""
        target = self._route.target(f"{self._prefix}{path}{encoded}")
        return _Request(method, path, target, fields, body, seconds, time.monotonic() + seconds)

    def _authorized(self, request: _Request) -> tuple[Connection, Answer]:
        """Send a request with credentials. After a 401, repeat it once if newer credentials may help."""
        started_at = self._clock.now()
        connection, answer = self._exchange(self._with_credentials(request))
        if answer.status != _UNAUTHORIZED or not self._credentials.rejected(started_at):
            return connection, answer
        self._read(request, connection, answer)
        return self._exchange(self._with_credentials(request))

    def _with_credentials(self, request: _Request) -> _Request:
        try:
            authorization = self._credentials.authorization(self._seconds_to_send(request))
        except ConfigError as error:
            raise explain(error, self._attempt(request, sent=False)) from error
        if not authorization:
            return request
        return request._replace(headers=[*request.headers, ("Authorization", authorization)])

    def _exchange(self, request: _Request) -> tuple[Connection, Answer]:
        """Use an idle connection if one exists. If it is dead, repeat a read on a new connection."""
        try:
            connection = self._connections.take_idle(self._key_pair(request))
        except ConfigError as error:
            raise explain(error, self._attempt(request, sent=False)) from error
        if connection is not None:
            try:
                return connection, self._send(request, connection)
            except ConnectionBroken:
                if request.method not in _IDEMPOTENT:
                    raise
        connection = self._connect(request)
        return connection, self._send(request, connection)

    def _connect(self, request: _Request) -> Connection:
        try:
            pair = self._key_pair(request)
            return self._connections.connect(pair, time.monotonic() + self._seconds_to_send(request))
        except FAILURES as error:
            raise self._explain(error, request, sent=False) from cause_of(error)

    def _key_pair(self, request: _Request) -> KeyPair | None:
        return self._credentials.key_pair(self._seconds_to_send(request))

    def _seconds_to_send(self, request: _Request) -> float:
        return min(request.deadline - time.monotonic(), request.send_by - self._clock.now())

    def _send(self, request: _Request, connection: Connection) -> Answer:
        log_headers("Request headers", request.words, request.headers)
        sent = False
        try:
            # Before each send, the socket checks this deadline again, even after the process was suspended
            # for a long time.
            arm(connection.sock, deadline=time.monotonic() + self._seconds_to_send(request))
            sent = True
            answer = exchange(
                connection,
                request.method,
                request.target,
                request.headers,
                request.body,
                answer_deadline=request.deadline,
            )
            log_headers("Response headers", request.words, answer.headers.items())
            _require_readable(answer, self._encoding)
        except FAILURES as error:
            connection.close()
            raise self._explain(error, request, sent=sent) from cause_of(error)
        except BaseException:
            connection.close()
            raise
        return answer

    def _read(self, request: _Request, connection: Connection, answer: Answer) -> Response:
        try:
            body = read_whole(answer, BODY_LIMIT)
        except FAILURES as error:
            connection.close()
            raise explain(error, self._attempt(request, sent=True)) from cause_of(error)
        except BaseException:
            connection.close()
            raise
        if answer.keep_alive:
            self._connections.give_back(connection)
        else:
            connection.close()
        return Response(answer.status, answer.headers, body)

    def _explain(self, error: Exception, request: _Request, *, sent: bool) -> ClientError:
        """Return the error to raise. For a timeout, say whether the response or the sending was too slow."""
        in_time = time.monotonic() < request.deadline
        if isinstance(error, TimeoutError) and in_time and request.send_by < math.inf:
            error = DeadlineExceeded(f"not completely sent in {request.send_seconds:.3g} s")
        return explain(error, self._attempt(request, sent=sent))

    def _attempt(self, request: _Request, *, sent: bool) -> Attempt:
        proxy = self._route.proxy
        return Attempt(
            host=self.host,
            request=request.words,
            write=request.method not in _IDEMPOTENT,
            sent=sent,
            seconds=request.seconds,
            verified_name=self._route.verified_name,
            proxy=shown_server(proxy.geturl()) if proxy else "",
            probe=self._connections.shown_certificate,
        )


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query, quote_via=quote)


def _require_readable(answer: Answer, asked: str) -> None:
    """Refuse a redirect, and an encoding that was not requested. Inflate the requested encoding."""
    if answer.status // 100 == _REDIRECTION:
        # Show only the target's host, because a redirect to a login page may carry a code in its query.
        where = shown_server(answer.headers.get("Location", "nowhere")) or "another path"
        raise BadAnswer(f"redirect ({answer.status}) to {where} refused")
    encoding = answer.headers.get("Content-Encoding", "identity").lower()
    if encoding in ("identity", ""):
        return
    if encoding != asked:
        raise BadAnswer(f"the response has Content-Encoding {encoding!r}, which was not requested")
    answer.inflate()
