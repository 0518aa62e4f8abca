"""
Which of two resource versions is older, and whether a list from the past may be taken.

Resource versions are opaque to whoever merely stores them; those of one resource may be compared, as numbers.
One that is no number compares with nothing, and then nothing is ever refused.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from handloop.workqueue.clock import Clock

_PATIENCE_SECONDS: Final = 30.0


def is_older(resource_version: str, than: str) -> bool:
    """Whether the first resource version is certainly older than the second."""
    # decimal numbers without leading zeros order by length, then as text
    if len(resource_version) > len(than) or (len(resource_version) == len(than) and resource_version >= than):
        return False
    return resource_version.isdecimal() and than.isdecimal()


class Verdict(Enum):
    """What to do with a list."""

    TAKE = auto()  # not older than what was seen
    WAIT = auto()  # older; ask again
    TAKE_REWOUND = auto()  # older, and that is what the history is now


class ResourceVersionFloor:
    """
    Decides about a list that is older than what was already published.

    Mostly it comes from a server that lags behind, so it is refused and asked for again. Once the server
    itself has said that what was seen is too large, or has answered with the past for 30 s, its history was
    rewound (a restored backup): then the list is the truth.

    State: _behind_since = when the past was first seen, None while there is nothing odd.
    Threads: the reflector's only.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._behind_since: float | None = None
        self._server_denies = False

    def server_denies(self) -> None:
        """The server has not seen the resource version that we have."""
        self._server_denies = True

    def judge(self, listed: str, seen: str) -> Verdict:
        """
        Decide about one list.

        Args: listed = the list's resource version; seen = the newest one published, "" when there is none.
        """
        if not is_older(listed, seen):
            self._behind_since, self._server_denies = None, False
            return Verdict.TAKE
        now = self._clock.now()
        if self._behind_since is None:
            self._behind_since = now
        if not self._server_denies and now - self._behind_since < _PATIENCE_SECONDS:
            return Verdict.WAIT
        self._behind_since, self._server_denies = None, False
        return Verdict.TAKE_REWOUND
