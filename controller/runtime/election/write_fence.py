"""
A fence in front of the transport, which stops the writes of a process that does not lead, or no longer does.

The loss of a lease stops the workers, but a worker that was suspended, or is in the middle of a sync, would
still send its next write. Every write is therefore checked here first. If a write then has to wait in the
transport, it is sent only while the lease is certain to be ours.
Decision: A lease is kept by a clock, not by co-operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from handloop.client.errors import Cancelled
from handloop.client.transport import ForwardingTransport, Transport

_READS: Final = ("GET", "HEAD")
_EVENTS: Final = r"/(api/v1|apis/events\.k8s\.io/v1)(/namespaces/[^/]+)?/events(/[^/]+)?"
_REVIEWS: Final = r"/apis/(authentication|authorization)\.k8s\.io/.*"
_HARMLESS: Final = re.compile(f"{_EVENTS}|{_REVIEWS}")
"""Requests that a standby may send: reviews of its permissions, and Events."""


class WriteFence(ForwardingTransport):
    """
    A transport that sends writes while seconds_to_write is positive. Otherwise it raises Cancelled.

    Events, access reviews and streams (which only read) always pass. The time limit applies only to sending:
    if a write was sent in time, the transport waits for its response, even a slow one.
    """

    def __init__(
        self,
        transport: Transport,
        seconds_to_write: Callable[[str], float],
        *,
        refusal: str = "not the leader: nothing was sent",
    ) -> None:
        """
        Args: seconds_to_write is called with the path of every write, and returns for how long the write may
        be sent. If it returns 0, the write is not sent; if it returns infinity, the write has no time limit.
        refusal is the text of the error.
        """
        super().__init__(transport)
        self._seconds_to_write = seconds_to_write
        self._refusal = refusal

    def _before_request(self, method: str, path: str, send_seconds: float) -> float:
        if method in _READS or _HARMLESS.fullmatch(path):
            return send_seconds
        send_seconds = min(send_seconds, self._seconds_to_write(path))
        if send_seconds <= 0:
            request = f"{method} {path}"
            raise Cancelled(self._refusal, host=self.host, request=request)
        return send_seconds
