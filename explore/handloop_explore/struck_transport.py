"""The transport through which an operator's process reaches the server. It carries out the plan's strikes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol

from handloop.client.errors import ConnectionBroken, ConnectionRefused, DeadlineExceeded
from handloop.client.http.response import Response, Stream
from handloop.client.transport import REQUEST_SECONDS, ForwardingTransport, Transport
from handloop_explore.cluster import VirtualCluster
from handloop_explore.leadership import LEASE, Leadership
from handloop_explore.plan import (
    CRASHES,
    LOSSES,
    PAUSE_SECONDS,
    SENT_SECONDS,
    SLOW,
    SLOW_SECONDS,
    VIEWS,
    Where,
)
from handloop_explore.played import Journal, Rival, Write
from handloop_explore.rivals import Rivals
from handloop_explore.strikes import answer_of, place_of, target_of
from handloop_explore.views import Views

_READS: Final = ("GET", "HEAD")
_EVENTS: Final = r"/api/v1/namespaces/[^/]+/events\b|/apis/events\.k8s\.io/"
_DISCOVERY: Final = r"/(api|version|openapi|apis)\b(/v\d\w*$|/[^/]+/[^/]+$|$)"
_JUST_BEFORE_SECONDS: Final = 2.0
_UNCOUNTED: Final = re.compile(f"{_EVENTS}|/apis/coordination\\.k8s\\.io/|{_DISCOVERY}")


class Striking(Protocol):
    """The part of a Process that its transport uses."""

    number: int
    cluster: VirtualCluster
    journal: Journal
    leadership: Leadership | None
    struck_here: Callable[[Where, int], str]
    views: Views

    @property
    def name(self) -> str:
        """The process's name in the story."""

    def check_alive(self) -> None:
        """Raises: ConnectionBroken if the process has ended."""

    def crash(self, *, is_down: bool = False) -> None:
        """
        End the process at once. Never returns.

        Args: is_down: whether no other process starts before the users' last step.
        """


class StruckTransport(ForwardingTransport):
    """A process's connection to the server. It counts writes, reads and watches, which plans can strike."""

    def __init__(self, transport: Transport, process: Striking) -> None:
        super().__init__(transport)
        self._process = process
        self._journal = process.journal
        self._views = process.views
        self._rivals = Rivals(process.cluster, process.journal.tell)

    def request(self, method: str, path: str, *, send_seconds: float = math.inf, **options: Any) -> Response:
        """Send a request, and carry out the plan's strike at it. A write is added to the story."""
        self._process.check_alive()
        send = partial(super().request, method, path, send_seconds=send_seconds, **options)
        if _UNCOUNTED.match(path):
            return send()
        return (self._read if method in _READS else self._write)(method, path, options, send)

    def stream(self, method: str, path: str, **options: Any) -> Stream:
        """Open a watch, and carry out the plan's strike at it."""
        self._process.check_alive()
        self._journal.watches += 1
        number = self._journal.watches
        if what := self._process.struck_here("w", number):
            self._tell(f"watch {number}, {path}", what)
            if what == "crash":
                self._process.crash()
            elif what == "pause":
                self._journal.threads.pause(PAUSE_SECONDS)
            else:
                self._views.strike_opening(what)
        return super().stream(method, path, **options)

    def _read(
        self, method: str, path: str, options: Mapping[str, Any], send: Callable[[], Response]
    ) -> Response:
        self._journal.reads += 1
        number = self._journal.reads
        if place_of(path)[2]:
            self._journal.gets.add(number)
        what = self._process.struck_here("r", number)
        if not what:
            return send()
        self._tell(f"read {number}, {path}", what)
        if what == "rewound":
            self._views.strike_opening(what)
            return send()
        return self._answer(f"{method} {path}", what, options, send, unknown=False)

    def _write(
        self, method: str, path: str, options: Mapping[str, Any], send: Callable[[], Response]
    ) -> Response:
        journal = self._journal
        journal.arrive()
        number = len(journal.writes) + 1
        struck = self._process.struck_here("", number)
        leadership = self._process.leadership
        objection = leadership.objection(self._process.number, path) if leadership else ""
        write = Write(number, journal.threads.now, method, path, 0, struck, self._process.number, objection)
        journal.writes.append(write)

        def sent() -> Response:
            answer = send()
            journal.writes[number - 1] = write._replace(status=answer.status)
            return answer

        if struck:
            self._tell(f"write {number}, {method} {path}", struck, number)
        answer = self._struck(write, options, sent)
        journal.writes[number - 1] = write._replace(status=answer.status)
        who = f"{self._process.name}: " if leadership else ""
        journal.tell(self._process.name, f"{who}{journal.writes[number - 1]}", number)
        self._views.wrote()
        return answer

    def _struck(self, write: Write, options: Mapping[str, Any], send: Callable[[], Response]) -> Response:
        process, what = self._process, write.struck
        if what.startswith("rival-"):
            target = target_of(write.method, write.path, options.get("body"))
            target = LEASE if what == "rival-lease" else target
            if self._rivals.act(what, target, options.get("body")):
                process.journal.rivals.append(Rival(what, target, process.cluster.find(target)))
            else:
                process.journal.tell("rival", "the rival has nothing to do there")
        elif what in (*VIEWS, "lease-slow", "behind"):
            self._views.strike(what)
        elif what == "pause":
            process.journal.threads.pause(PAUSE_SECONDS)
        elif what == "behind-crash":
            self._views.strike("behind")
            send()
            process.crash(is_down=True)
        elif what in SLOW:
            return self._slow(what, send)
        elif what in CRASHES:
            if what == "crash-sent":
                self._journal.under_way.append(partial(self._arrive, write, send))
                process.cluster.later("server", SENT_SECONDS, self._journal.arrive)
            elif what != "crash-before":
                send()
            process.crash(is_down=what == "crash-down")
        elif what:
            return self._answer(f"{write.method} {write.path}", what, options, send, unknown=True)
        return send()

    def _arrive(self, write: Write, send: Callable[[], Response]) -> None:
        """Deliver to the server a write that the process sent before its end."""
        send()
        words = f"the server receives the request in flight: {self._journal.writes[write.number - 1]}"
        self._journal.tell(self._process.name, words, write.number)

    def _slow(self, what: str, send: Callable[[], Response]) -> Response:
        """Return the server's answer late. A crash or pause happens 2 s before the answer."""
        answer = answer_of(503) if what == "slow-503" else send()
        self._journal.threads.sleep(SLOW_SECONDS - _JUST_BEFORE_SECONDS)
        if what == "slow-crash":
            self._process.crash()
        if what == "slow-pause":
            self._journal.threads.pause(PAUSE_SECONDS)
        self._journal.threads.sleep(_JUST_BEFORE_SECONDS)
        return answer

    def _answer(
        self,
        request: str,
        what: str,
        options: Mapping[str, Any],
        send: Callable[[], Response],
        *,
        unknown: bool,
    ) -> Response:
        """
        Return a refusal, or raise the error for a lost request or answer.

        Args: unknown: whether a request with a lost answer may have changed something.
        """
        if what not in (*LOSSES, "timeout"):
            return answer_of(int(what))
        if what in ("lost", "timeout-after"):
            send()
        if what == "never-sent":
            raise ConnectionRefused("connection refused", request=request)
        if what == "lost":
            raise ConnectionBroken("the connection broke", request=request, outcome_unknown=unknown)
        seconds = options.get("timeout_seconds") or REQUEST_SECONDS
        self._journal.threads.sleep(seconds)
        words = f"no complete response in {seconds:g} s"
        raise DeadlineExceeded(words, request=request, outcome_unknown=unknown)

    def _tell(self, where: str, what: str, write: int = 0) -> None:
        self._journal.tell("plan", f"the plan strikes {where}: {what}", write)
