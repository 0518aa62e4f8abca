"""What is behind an error that keeps a reflector from its work."""

from __future__ import annotations

from typing import Final

from handloop.client.errors import (
    APIError,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    TransportError,
)

# a server that does not answer, however that shows
_UNANSWERED: Final = (ConnectionRefused, ConnectionBroken, DeadlineExceeded)
_THEIRS: Final = (APIError, TransportError, DecodeError)


def cause_of(error: Exception | None) -> BaseException | None:
    """The error of the server or the network behind one of ours; what is behind theirs is a detail."""
    if error is None or error.__cause__ is None or isinstance(error, _THEIRS):
        return error
    return error.__cause__


def is_unanswered(error: Exception | None) -> bool:
    """Whether the server did not answer."""
    return isinstance(cause_of(error), _UNANSWERED)
