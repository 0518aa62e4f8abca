"""
Nothing is written by a process that does not lead.

Workers are asked to stop when a lease is lost, but one that has been suspended, or is in the middle of a
sync, would go on with its next write. So the last word is here, before a request leaves; and what has not
left when the lease may be lost does not leave any more, whatever held it up behind the fence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from handloop.client.errors import Cancelled
from handloop.client.http.response import Response, Stream
from handloop.client.transport import Transport

_READS: Final = ("GET", "HEAD")
_EVENTS: Final = r"/(api/v1|apis/events\.k8s\.io/v1)(/namespaces/[^/]+)?/events(/[^/]+)?"
_REVIEWS: Final = r"/apis/(authentication|authorization)\.k8s\.io/.*"
_CANDIDATES: Final = r"/apis/coordination\.k8s\.io/[^/]+/namespaces/[^/]+/leasecandidates(/[^/]+)?"
_HARMLESS: Final = re.compile(f"{_EVENTS}|{_REVIEWS}|{_CANDIDATES}")
"""Standbys may stand for election, ask what they are allowed to, and tell people what they do."""


class TimedTransport(Transport, Protocol):
    """A Transport that can be told until when a request must have left."""

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
        Send a request; see Transport.

        Args: send_seconds = how long it may take to leave; the answer may come later.
        Raises: TransportError when it has not left by then; with outcome_unknown if a part of it has.
        """


class WriteFence:
    """
    A handloop.client.transport.Transport that lets writes pass for as long as seconds_to_write says.

    Events, reviews and candidacies always pass. The time is for the sending alone: a slow answer to what left
    in time is waited for. Threads: any; guard is called before the others run.
    """

    def __init__(
        self, transport: TimedTransport, seconds_to_write: Callable[[], float] = lambda: 0.0
    ) -> None:
        """Make a fence; without seconds_to_write it is closed until guard()."""
        self._transport = transport
        self._seconds_to_write = seconds_to_write

    def guard(self, seconds_to_write: Callable[[], float]) -> None:
        """Ask seconds_to_write from here on; before anything is written."""
        self._seconds_to_write = seconds_to_write

    @property
    def host(self) -> str:
        """`scheme://host:port`, "" for a transport that has none."""
        return str(getattr(self._transport, "host", ""))

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_seconds: float | None = None,
    ) -> Response:
        """
        Send a request; see Transport.

        Raises: Cancelled for a write while we do not lead: nothing was sent.
        """
        is_free = method in _READS or _HARMLESS.fullmatch(path)
        seconds = math.inf if is_free else self._seconds_to_write()
        if seconds <= 0:
            raise Cancelled("not the leader: nothing was sent", host=self.host, request=f"{method} {path}")
        return self._transport.request(
            method,
            path,
            query=query,
            headers=headers,
            body=body,
            timeout_seconds=timeout_seconds,
            send_seconds=seconds,
        )

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout_seconds: float | None = None,
    ) -> Stream:
        """Open a stream; see Transport. Streams are reads."""
        return self._transport.stream(
            method, path, query=query, headers=headers, read_timeout_seconds=read_timeout_seconds
        )
