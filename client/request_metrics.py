"""
What the client reports about its requests.

The names behind it are controller-runtime's `rest_client_*` series; `method` and `verb` are both the HTTP
method, as there.
"""

from __future__ import annotations


class RequestMetrics:
    """A listener that hears nothing. Threads: called from any, outside locks; must be quick."""

    def request_total(self, *, code: str, method: str, host: str) -> None:
        """An attempt ended: code is the HTTP status, or `<error>` when there was no answer."""

    def request_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """How long an attempt took, to the end of the answer, or of its head for a watch."""

    def request_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes of a request's body."""

    def response_size(self, *, verb: str, host: str, size: int) -> None:
        """Bytes of an answer's body."""

    def request_retry(self, *, code: str, verb: str, host: str) -> None:
        """An attempt is repeated, because of code."""

    def rate_limiter_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """How long a request waited for the client's own rate limit."""

    def dns_resolution_duration(self, *, host: str, seconds: float) -> None:
        """How long a name took to resolve."""


NO_METRICS = RequestMetrics()
