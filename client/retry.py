"""
When a request is repeated: the server asks for it, or the answer to a read got lost.

A 429 says that the server did not act, so any request may come again; a 5xx may hide a write that happened,
so only reads do. Both only when the server names a wait: a Retry-After of whole seconds, or the same in its
Status; dates and garbage count as none. A lost connection repeats a read after a second. Everything else is
for the caller, who knows what it wants.
Follows: client-go rest/with_retry.go @32ce75a7d, differs: 5xx never repeat a write; a server that has not yet
seen our resource version is not waited for, because the reflector has a better answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from handloop.client.errors import (
    APIError,
    ConnectionBroken,
    TooManyRequests,
    TransportError,
    is_too_large_resource_version,
)

MAX_RETRIES: Final = 10
MAX_WAIT_SECONDS: Final = 120.0
_LOST_SECONDS: Final = 1.0
_JITTER: Final = 0.1
_SERVER_ERROR: Final = 500
_SECONDS = re.compile(r"\d{1,9}", re.ASCII)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The server's Retry-After in seconds, None without one that is a whole number."""
    text = headers.get("Retry-After", "").strip()
    return float(text) if _SECONDS.fullmatch(text) else None


def seconds_asked_for(error: BaseException) -> float:
    """The wait that an answer asks of whoever tries again by itself: two minutes at most, 0 for none."""
    wait = error.retry_after_seconds if isinstance(error, APIError) else None
    return min(wait or 0.0, MAX_WAIT_SECONDS)


def wait_before_retry(error: APIError | TransportError, *, read: bool, uniform: float) -> float | None:
    """
    Seconds to wait before sending the request again, None to give up.

    Args: read = the request changes nothing; uniform in [0, 1) spreads clients that were told the same.
    """
    if isinstance(error, TransportError):
        return _LOST_SECONDS if read and isinstance(error, ConnectionBroken) else None
    wait = error.retry_after_seconds
    if wait is None or is_too_large_resource_version(error):
        return None
    if isinstance(error, TooManyRequests) or (read and error.code >= _SERVER_ERROR):
        return min(wait, MAX_WAIT_SECONDS) * (1 + _JITTER * uniform)
    return None
