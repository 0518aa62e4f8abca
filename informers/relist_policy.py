"""
Decides whether an error from a watch requires a new list, or only a new watch.

A list is expensive, because it transfers all objects. The reflector therefore lists only if a new watch would
not help: if the server refuses our resource version, or several watches in a row deliver nothing. A new
watch is enough if the connection broke, the server is overloaded, or a stream became unreadable.
Follows: client-go tools/cache/reflector.go @32ce75a7d. Differs: in client-go, a watch that cannot be opened
causes a new list, except after a refused connection or a 429, and so does a very short watch; a broken stream
does not (apimachinery pkg/watch/streamwatcher.go). In client-go, an unreadable event always causes a new
list.
Decision: A watch is never trusted forever.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from handloop.client.errors import (
    APIError,
    ClientError,
    DeadlineExceeded,
    DecodeError,
    TooManyRequests,
    TransportError,
    is_expired,
    is_too_large_resource_version,
)

_SERVER_ERRORS: Final = 500

# After this many watches in a row that deliver nothing, a new list is made.
FRUITLESS_WATCHES: Final = 5
# The same limit, but for watches that time out on a server that is known to send bookmarks. While objects
# change, it sends a bookmark about every minute, so two silent watches miss several. Either the server is
# idle, or its history was rewound to a state before our resource version. The reflector checks this before
# it lists.
SILENT_WATCHES: Final = 2


class RelistReason(StrEnum):
    """Why the reflector relisted."""

    EXPIRED = "expired"  # 410
    TOO_LARGE = "too-large"  # the server has not seen our resource version
    REWOUND = "rewound"  # a bookmark was older than an earlier event
    ERROR = "error"  # any other error
    UNREADABLE = "unreadable"  # several watches could not be read, or ended at once
    WIDENED = "slots"  # this process may store more objects than before
    TAKEOVER = "takeover"  # this process has taken over another one's work
    SILENT = "silent"  # not even bookmarks arrived, and the server is behind what it sent


class StaleBookmark(ClientError):  # noqa: N818 - it says what it is
    """The server sent a bookmark older than an earlier event, so it has lost part of its history."""


class VeryShortWatch(ClientError):  # noqa: N818 - client-go's noun
    """A watch ended within a second and delivered no event."""


def relist_reason(error: Exception) -> RelistReason:
    """Return the reason for a list that follows this error."""
    own = isinstance(error, APIError | StaleBookmark)  # their causes are details of the transport
    cause = error if own or error.__cause__ is None else error.__cause__
    if isinstance(cause, StaleBookmark):
        return RelistReason.REWOUND
    if isinstance(cause, APIError) and is_too_large_resource_version(cause):
        return RelistReason.TOO_LARGE
    if isinstance(cause, APIError) and is_expired(cause):
        return RelistReason.EXPIRED
    return RelistReason.ERROR


def may_open_again(error: Exception) -> bool:
    """
    Return whether a watch that could not be opened is retried from the same resource version.

    This is the case if the connection failed, or if the server answered with 429 or a 5xx other than "Too
    large resource version".
    """
    if isinstance(error, TransportError | TooManyRequests):
        return True
    if is_too_large_resource_version(error):
        return False
    return isinstance(error, APIError) and error.code >= _SERVER_ERRORS


class RelistPolicy:
    """
    Decides whether a new list or a new watch follows a watch that ended with an error.

    State: _fruitless is how many watches in a row delivered nothing; _bookmarks_seen is whether this server
    sends bookmarks.
    Threads: used only by the reflector's thread.
    """

    def __init__(self) -> None:
        self._fruitless = 0
        self._bookmarks_seen = False

    def events_came(self, *, bookmarks: bool) -> None:
        """Record that a watch delivered an event that was understood."""
        self._fruitless = 0
        self._bookmarks_seen = self._bookmarks_seen or bookmarks

    def why_relist(self, error: Exception, *, brought_nothing: bool) -> RelistReason | None:
        """
        Return why a new list is needed, or None if a new watch is enough.

        A new watch continues from the same resource version.

        Args: brought_nothing is True if this watch delivered no event that was understood.
        """
        if isinstance(error, TooManyRequests):
            return None
        if not isinstance(error, TransportError | DecodeError | VeryShortWatch):
            return relist_reason(error)
        self._fruitless += brought_nothing
        reason = self._after_fruitless(error)
        if reason is not None:
            self._fruitless = 0
        return reason

    def _after_fruitless(self, error: Exception) -> RelistReason | None:
        if isinstance(error, DeadlineExceeded):
            silent = self._bookmarks_seen and self._fruitless >= SILENT_WATCHES
            return RelistReason.SILENT if silent else None
        if isinstance(error, TransportError) or self._fruitless < FRUITLESS_WATCHES:
            return None
        return RelistReason.UNREADABLE
