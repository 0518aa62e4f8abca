"""
A fence before the transport: a process that does not lead writes nothing.

A lost lease stops the workers, but a worker that was suspended, or is in the middle of a sync, would go on
with its next write. So each write is checked here, before it leaves. A write that is held up behind the fence
until the lease may be lost is not sent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from handloop.client.errors import Cancelled
from handloop.client.http.response import Response, Stream
from handloop.client.transport import Transport

_READS: Final = ("GET", "HEAD")
_EVENTS: Final = r"/(api/v1|apis/events\.k8s\.io/v1)(/namespaces/[^/]+)?/events(/[^/]+)?"
_REVIEWS: Final = r"/apis/(authentication|authorization)\.k8s\.io/.*"
_CANDIDATES: Final = r"/apis/coordination\.k8s\.io/[^/]+/namespaces/[^/]+/leasecandidates(/[^/]+)?"
_HARMLESS: Final = re.compile(f"{_EVENTS}|{_REVIEWS}|{_CANDIDATES}")
"""A standby may stand for election, ask for its permissions, and record Events."""


class WriteFence:
    """
    A handloop.client.transport.Transport that passes writes while seconds_to_write is positive.

    Events, reviews and candidacies always pass. The limit is for sending alone: a slow answer to a write that
    left in time is waited for. Threads: any.
    """

    def __init__(self, transport: Transport, seconds_to_write: Callable[[], float]) -> None:
        """Args: seconds_to_write is called for every write; 0 = do not send it, infinity = no limit."""
        self._transport = transport
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
        send_seconds: float = math.inf,
    ) -> Response:
        """
        Send a request; see Transport.

        Raises: Cancelled for a write while we do not lead: nothing was sent.
        """
        if method not in _READS and not _HARMLESS.fullmatch(path):
            send_seconds = min(send_seconds, self._seconds_to_write())
            if send_seconds <= 0:
                request = f"{method} {path}"
                raise Cancelled("not the leader: nothing was sent", host=self.host, request=request)
        return self._transport.request(
            method,
            path,
            query=query,
            headers=headers,
            body=body,
            timeout_seconds=timeout_seconds,
            send_seconds=send_seconds,
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
