"""
An API server as contract tests see it: requests with the standard library, to either server.

One class speaks to the sandbox and to a real kube-apiserver alike; only where it connects differs.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import yaml

Object = dict[str, Any]

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_SECONDS = 120.0
"""A real garbage collector looks for new kinds every 30 s, and backs off from those it met before."""
_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.25


class Answer(NamedTuple):
    """A server's answer; body is the decoded JSON, or the text if it is no JSON; raw, as it came."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: Any
    raw: bytes

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers."""
        values = [value for name, value in self.headers if name.lower() == "warning"]
        return [value.partition('"')[2][:-1].replace('\\"', '"') for value in values]

    @property
    def content_type(self) -> str:
        """The Content-Type header."""
        return self.field("Content-Type")

    def field(self, name: str) -> str:
        """A header, "" when there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    @property
    def message(self) -> str:
        """The message of a Status."""
        message: str = self.body["message"]
        return message

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """(reason, field, message) of a Status."""
        found = self.body["details"]["causes"]
        return [(cause["reason"], cause.get("field", ""), cause["message"]) for cause in found]

    @property
    def rv(self) -> str:
        """The resource version of an object or list."""
        version: str = self.body["metadata"]["resourceVersion"]
        return version

    @property
    def names(self) -> list[str]:
        """The names in a list."""
        return [item["metadata"]["name"] for item in self.body["items"]]


@dataclass(frozen=True)
class Endpoint:
    """Where a server is and who we are."""

    url: str
    token: str = ""
    tls: ssl.SSLContext | None = None

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        """A connection that is not open yet."""
        parts = urlsplit(self.url)
        assert parts.hostname
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port, context=self.tls, timeout=seconds)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)


def endpoint_of(kubeconfig: Path) -> Endpoint:
    """The endpoint of a kubeconfig's current context: a token or a client certificate, inline or in files."""
    config = yaml.safe_load(kubeconfig.read_text())
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    tls = None
    if cluster["server"].startswith("https"):
        tls = ssl.create_default_context(cadata=_text(cluster, "certificate-authority"))
        if "client-certificate-data" in user or "client-certificate" in user:
            _load_certificate(tls, user)
    return Endpoint(cluster["server"], user.get("token", ""), tls)


def _named(entries: list[Object], name: str) -> Object:
    return next(entry for entry in entries if entry["name"] == name)


def _text(source: Mapping[str, str], key: str) -> str:
    if f"{key}-data" in source:
        return base64.b64decode(source[f"{key}-data"]).decode()
    return Path(source[key]).read_text()


def _load_certificate(tls: ssl.SSLContext, user: Mapping[str, str]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(_text(user, "client-certificate") + "\n" + _text(user, "client-key"))
        file.flush()
        tls.load_cert_chain(file.name)


@dataclass
class Watch:
    """
    An open watch, read by a thread of its own.

    State: events grows while the stream is open; ended is set at its end. Both are read under the condition.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    events: list[Object] = field(default_factory=list)
    ended: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def until(self, done: Callable[[list[Object]], bool], seconds: float = _SECONDS) -> list[Object]:
        """Wait until done(events); returns the events so far."""
        with self.changed:
            assert self.changed.wait_for(lambda: done(self.events), seconds), self.events
            return list(self.events)

    def streamed_list(self) -> tuple[list[Object], Object]:
        """Wait for the bookmark that ends a streamed list. Returns: the events before it, and it."""
        events = self.until(lambda events: any(each["type"] == "BOOKMARK" for each in events))
        end = next(place for place, each in enumerate(events) if each["type"] == "BOOKMARK")
        return events[:end], events[end]

    def count(self, number: int) -> list[Object]:
        """Wait for a number of events."""
        return self.until(lambda events: len(events) >= number)

    def finish(self, seconds: float = _SECONDS) -> list[Object]:
        """Wait for the server to end the stream; returns all events."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.ended, seconds), self.events
            return list(self.events)


class APIServer:
    """
    One server under test; `real` is true for a real one.

    State: _idle, the connections that wait for their next request: a TLS handshake costs more than most
    requests. Any thread can use it.
    """

    def __init__(self, endpoint: Endpoint, *, real: bool) -> None:
        self.endpoint = endpoint
        self.real = real
        self._idle: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close its connections."""
        while self._idle:
            self._idle.pop().close()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request; body is JSON unless it is bytes. token "" sends no credentials at all."""
        endpoint = self.endpoint
        if token is not None and endpoint.tls is not None:
            # a client certificate would speak for the administrator
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            endpoint = Endpoint(endpoint.url, token, context)
        fields = {"Accept": accept, "Content-Type": content_type, **(headers or {})}
        ask = partial(self._ask, method=method, path=path, headers=fields, body=body, token=token)
        if endpoint is not self.endpoint:
            with closing(endpoint.connect(_SECONDS)) as connection:
                return ask(connection)
        # the server may have closed one that was idle
        with suppress(IndexError, ConnectionError, ssl.SSLEOFError):
            return self._kept(self._idle.pop(), ask)
        return self._kept(endpoint.connect(_SECONDS), ask)

    def _kept(
        self, connection: http.client.HTTPConnection, ask: Callable[[http.client.HTTPConnection], Answer]
    ) -> Answer:
        """Ask, and keep the connection for the next request."""
        try:
            answer = ask(connection)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answer

    def _ask(self, connection: http.client.HTTPConnection, **request: Any) -> Answer:
        self._send(connection, **request)
        response = connection.getresponse()
        raw = response.read()
        return Answer(response.status, tuple(response.getheaders()), _decoded(raw), raw)

    def get(self, path: str, **options: Any) -> Answer:
        """GET."""
        return self.request("GET", path, **options)

    def create(self, path: str, body: Any, **options: Any) -> Answer:
        """POST."""
        return self.request("POST", path, body, **options)

    def update(self, path: str, body: Any, **options: Any) -> Answer:
        """PUT."""
        return self.request("PUT", path, body, **options)

    def patch(self, path: str, body: Any, content_type: str = MERGE, **options: Any) -> Answer:
        """PATCH."""
        return self.request("PATCH", path, body, content_type=content_type, **options)

    def delete(self, path: str, body: Any = None, **options: Any) -> Answer:
        """DELETE."""
        return self.request("DELETE", path, body, **options)

    def remove_namespace(self, name: str) -> None:
        """Delete a namespace, unless the server is thrown away after the tests: that costs it 70 requests."""
        if not self.real or not os.environ.get("TEST_DISPOSABLE"):
            self.delete(f"/api/v1/namespaces/{name}")
        else:  # the controller manager asks for the scale of each every few seconds
            self.delete(f"/apis/autoscaling/v2/namespaces/{name}/horizontalpodautoscalers")

    def eventually(
        self, path: str, done: Callable[[Answer], bool], seconds: float = _SECONDS, **options: Any
    ) -> Answer:
        """GET until done(answer)."""
        return self.repeat(lambda: self.get(path, **options), done, seconds)

    def repeat(
        self, send: Callable[[], Answer], done: Callable[[Answer], bool], seconds: float = _SECONDS
    ) -> Answer:
        """Send a request until done(answer)."""
        deadline, pause = time.monotonic() + seconds, _PAUSE_SECONDS
        while True:
            answer = send()
            if _holds(done, answer):
                return answer
            assert time.monotonic() < deadline, answer
            threading.Event().wait(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE_SECONDS)

    @contextmanager
    def watch(
        self, path: str, *, accept: str = "application/json", headers: Mapping[str, str] | None = None
    ) -> Iterator[Watch]:
        """Open a watch; it is given up at the end of the block."""
        connection = self.endpoint.connect(_SECONDS)
        self._send(connection, method="GET", path=path, headers={"Accept": accept, **(headers or {})})
        response = connection.getresponse()
        watch = Watch(response.status, tuple(response.getheaders()))
        reader = threading.Thread(target=_read, args=(response, watch), name="contract-watch")
        reader.start()
        try:
            yield watch
        finally:
            _shut(connection)
            reader.join()
            connection.close()

    def _send(
        self,
        connection: http.client.HTTPConnection,
        *,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Any = None,
        token: str | None = None,
    ) -> None:
        fields = {"User-Agent": "contract/1", **headers}
        chosen = self.endpoint.token if token is None else token
        if chosen:
            fields["Authorization"] = f"Bearer {chosen}"
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is None or not fields.get("Content-Type"):
            fields.pop("Content-Type", None)
        connection.request(method, path, content, fields)


def _holds(done: Callable[[Answer], bool], answer: Answer) -> bool:
    try:
        return done(answer)
    except (KeyError, IndexError, TypeError):
        return False


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")


def _read(response: http.client.HTTPResponse, watch: Watch) -> None:
    try:
        while line := response.readline():
            with watch.changed:
                watch.events.append(json.loads(line))
                watch.changed.notify_all()
    except (OSError, ValueError, AttributeError, http.client.HTTPException):
        pass
    with watch.changed:
        watch.ended = True
        watch.changed.notify_all()


def _shut(connection: http.client.HTTPConnection) -> None:
    """Wake the reader: a closed socket ends its read."""
    try:
        if connection.sock is not None:
            connection.sock.shutdown(2)
    except OSError:
        pass
