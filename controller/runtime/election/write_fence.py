"""
Nothing is written by a process that does not lead.

Workers are asked to stop when a lease is lost, but one that has been suspended, or is in the middle of a
sync, would go on with its next write. So the last word is here, before a request leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from client.errors import Cancelled
from client.http.response import Response, Stream
from client.transport import Transport

_READS: Final = ("GET", "HEAD")
_EVENTS: Final = r"/(api/v1|apis/events\.k8s\.io/v1)(/namespaces/[^/]+)?/events(/[^/]+)?"
_REVIEWS: Final = r"/apis/(authentication|authorization)\.k8s\.io/.*"
_CANDIDATES: Final = r"/apis/coordination\.k8s\.io/[^/]+/namespaces/[^/]+/leasecandidates(/[^/]+)?"
_HARMLESS: Final = re.compile(f"{_EVENTS}|{_REVIEWS}|{_CANDIDATES}")
"""Standbys may stand for election, ask what they are allowed to, and tell people what they do."""


class WriteFence:
    """
    A client.transport.Transport that lets writes pass while may_write says so.

    Events, reviews and candidacies always pass. Threads: any; guard is called before the others run.
    """

    def __init__(self, transport: Transport, may_write: Callable[[], bool] = lambda: False) -> None:
        """Make a fence; without may_write it is closed until guard()."""
        self._transport = transport
        self._may_write = may_write

    def guard(self, may_write: Callable[[], bool]) -> None:
        """Ask may_write from here on; before anything is written."""
        self._may_write = may_write

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
        if method not in _READS and not _HARMLESS.fullmatch(path) and not self._may_write():
            raise Cancelled("not the leader: nothing was sent", host=self.host, request=f"{method} {path}")
        return self._transport.request(
            method, path, query=query, headers=headers, body=body, timeout_seconds=timeout_seconds
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
