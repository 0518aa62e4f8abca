"""A fence in front of the transport, which refuses writes to namespaces that are no longer watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handloop.apis.resource import namespace_in
from handloop.client.errors import Cancelled
from handloop.client.transport import ForwardingTransport, Transport

_READS: Final = ("GET", "HEAD")


class NamespaceFence(ForwardingTransport):
    """
    A transport that refuses writes to namespaces that are no longer watched.

    A refused write is not sent, and raises Cancelled. It can come from a reconcile that began while the
    namespace was still watched.
    """

    def __init__(self, transport: Transport, has_left: Callable[[str], bool]) -> None:
        """Args: has_left is called with the namespace of every write."""
        super().__init__(transport)
        self._has_left = has_left

    def _before_request(self, method: str, path: str, send_seconds: float) -> float:
        if method not in _READS and (namespace := namespace_in(path)) and self._has_left(namespace):
            text = f"namespace {namespace} is no longer watched: nothing was sent"
            raise Cancelled(text, host=self.host, request=f"{method} {path}")
        return send_seconds
