"""
Reports requests to the log and to metrics.

At -v 6 the log shows a line per request, at 7 also headers, at 8 truncated bodies and at 9 whole bodies, but
never credentials. The level is checked before a line is built, so that suppressed lines cost nothing. The
metrics have the names of controller-runtime's `rest_client_*` series. As in controller-runtime, the labels
`method` and `verb` both contain the HTTP method.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("client")

LINE: Final = 6
HEADERS: Final = 7
BODIES: Final = 8
WHOLE_BODIES: Final = 9
_CUT_BYTES: Final = 1024
_SAID_WARNINGS: Final = 1000
# The format, from the predecessor of RFC 9110, is 299 AGENT "TEXT". Commas separate several warnings.
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")
_SECRET_FIELDS: Final = ("authorization", "proxy-authorization")
# The bodies at these paths are not logged, because they contain Secrets and service account tokens.
_SECRET_PATHS: Final = ("/secrets", "/token")


class _Verbosity:
    """
    The -v level.

    State: level is written by set_verbosity and read by every request.
    """

    level = 0


def set_verbosity(level: int) -> None:
    """Set the -v level up to which requests are logged."""
    _Verbosity.level = level


def enabled(level: int) -> bool:
    """Return whether lines of this level are logged."""
    return _Verbosity.level >= level


def log_answer(*, verb: str, url: str, status: int | str, seconds: float) -> None:
    """Log one line for an attempt."""
    if enabled(LINE):
        milliseconds = round(seconds * 1000, 1)
        log.debug("Response", v=LINE, verb=verb, url=url, status=status, milliseconds=milliseconds)


def log_headers(what: str, request: str, headers: Iterable[tuple[str, str]]) -> None:
    """Log the header fields of a request or response."""
    if enabled(HEADERS):
        log.debug(what, v=HEADERS, request=request, headers=masked(headers))


def log_body(what: str, path: str, body: bytes) -> None:
    """Log a body, which is truncated below level 9."""
    if not body or not enabled(BODIES):
        return
    if any(part in path for part in _SECRET_PATHS):
        text = f"<{len(body)} bytes not shown>"
    else:
        text = (body if enabled(WHOLE_BODIES) else body[:_CUT_BYTES]).decode("utf-8", "backslashreplace")
    log.debug(what, v=BODIES, body=text, bytes=len(body))


def masked(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return header fields for a log, in which credentials are reduced to their scheme."""
    return {
        name: f"{value.partition(' ')[0]} <masked>" if name.lower() in _SECRET_FIELDS else value
        for name, value in headers
    }


class ServerWarnings:
    """
    Logs the warnings in the server's responses, such as deprecated versions or unknown fields, each text
    once.

    State: _said holds the latest texts. _lock guards _said, and no other lock is taken while it is held.
    Threads: any thread can use this object.
    """

    def __init__(self) -> None:
        self._lock = new_lock("ServerWarnings._lock", 95)
        self._said: dict[str, None] = {}

    def hear(self, answer: Mapping[str, str], resource: str) -> None:
        """Args: answer holds the response's header fields. `Warning` may contain several texts."""
        for quoted in _WARNING.findall(answer.get("Warning", "")):
            text = _ESCAPED.sub(r"\1", quoted)
            with self._lock:
                news = text not in self._said
                self._said[text] = None
                if len(self._said) > _SAID_WARNINGS:
                    del self._said[next(iter(self._said))]
            if news:
                log.warning("The server warns", text=text, resource=resource, once=True)


class RequestMetrics:
    """
    A listener for the client's metrics. This base class ignores all reports.

    Threads: the thread that sends a request calls the methods without locks. A slow method delays the
    request.
    """

    def request_total(self, *, code: str, method: str, host: str) -> None:
        """Count an attempt that ended. code is the HTTP status, or `<error>` if there was no response."""

    def request_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """
        Record the seconds from an attempt's start to its response's end (for a watch, to the end of the
        head).
        """

    def request_size(self, *, verb: str, host: str, size: int) -> None:
        """Record the bytes of a request's body."""

    def response_size(self, *, verb: str, host: str, size: int) -> None:
        """Record the bytes of a response's body."""

    def request_retry(self, *, code: str, verb: str, host: str) -> None:
        """Count a repeated attempt. code is the result of the previous attempt."""

    def rate_limiter_duration(self, *, verb: str, host: str, seconds: float) -> None:
        """Record how long a request waited for the client's own rate limit."""

    def dns_resolution_duration(self, *, host: str, seconds: float) -> None:
        """Record how long it took to resolve a host name."""


NO_METRICS = RequestMetrics()
