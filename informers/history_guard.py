"""
Compares resource versions: finds the older of two, and decides about old lists and old watch events.

Resource versions are opaque to a component that only stores them, but those of one resource can be compared
as numbers. A version that is not a number is never compared, so nothing is rejected because of it.
"""

from __future__ import annotations

import threading
from enum import Enum, auto
from typing import Final, Generic, TypeVar

from handloop.apis.meta import Object
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock

T = TypeVar("T", bound=Object)

PATIENCE_SECONDS: Final = 30.0
"""How long a server must keep answering with old states before they are accepted."""
# How many deletions are remembered, so that no old state restores an object. The number is arbitrary.
_REMEMBERED: Final = 1000


def is_older(resource_version: str, than: str) -> bool:
    """Return whether the first resource version is certainly older than the second."""
    # Decimal numbers without leading zeros are ordered by length and then as strings.
    if len(resource_version) > len(than) or (len(resource_version) == len(than) and resource_version >= than):
        return False
    return resource_version.isdecimal() and than.isdecimal()


class Verdict(Enum):
    """What to do with a list."""

    TAKE = auto()  # not older than the newest published list
    WAIT = auto()  # older; list again
    TAKE_REWOUND = auto()  # older, but the server's history was rewound


class ResourceVersionFloor:
    """
    Decides whether to accept a list that is older than the last one that was published.

    Usually such a list comes from a server that lags behind, so it is rejected, and the reflector lists
    again. The list is accepted if the server's history was rewound, for example because a backup was
    restored. Two signs show that: the server has refused our resource version as too large, or it has
    answered with old lists for 30 s.

    State: _behind_since is when the first old list arrived, or None if the last list was not old.
    Threads: used only by the reflector's thread.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._behind_since: float | None = None
        self._server_denies = False

    def server_denies(self) -> None:
        """Record that the server has refused our resource version as too large."""
        self._server_denies = True

    def judge(self, listed: str, seen: str) -> Verdict:
        """
        Return what to do with a list.

        Args: listed is the list's resource version; seen is the newest published one, or "" if there is
        none.
        """
        if not is_older(listed, seen):
            self._behind_since, self._server_denies = None, False
            return Verdict.TAKE
        now = self._clock.now()
        if self._behind_since is None:
            self._behind_since = now
        if not self._server_denies and now - self._behind_since < PATIENCE_SECONDS:
            return Verdict.WAIT
        self._behind_since, self._server_denies = None, False
        return Verdict.TAKE_REWOUND


class HistoryGuard(Generic[T]):
    """
    Prevents objects from going back in time if a server sends events twice or out of order.

    A healthy server sends a watch's events in order, so nothing is checked until an event arrives out of
    order. From then on, before the informer applies a change, it compares the UID and resource version with
    those of the stored object.

    State: _out_of_order is set by the reflector before it queues an event that is out of order, and never
    cleared. _deleted maps the UIDs of the last deletions to resource versions, oldest first, and is guarded
    by _lock (97). The reflector writes _deleted, because the FIFO drops deletions of unknown objects; the
    informer reads it.
    """

    def __init__(self) -> None:
        self._out_of_order = threading.Event()
        self._lock = new_lock("HistoryGuard._lock", 97)
        self._deleted: dict[str, str] = {}

    @property
    def is_needed(self) -> bool:
        """Return whether this server has sent an event out of order."""
        return self._out_of_order.is_set()

    def saw_disorder(self) -> None:
        """Record that an event was older than an earlier one on the same watch."""
        self._out_of_order.set()

    def note_deleted(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """Remember a deletion."""
        if isinstance(obj, DeletedFinalStateUnknown) or not obj.metadata.uid:
            return
        with self._lock:
            self._deleted[obj.metadata.uid] = obj.metadata.resource_version
            if len(self._deleted) > _REMEMBERED:
                del self._deleted[next(iter(self._deleted))]

    def is_echo(self, delta_type: DeltaType, obj: T | DeletedFinalStateUnknown[T], stored: T | None) -> bool:
        """
        Return True if a delta is older than the stored object, or not newer than a deletion of its object.

        Returns: False for deltas from lists and resyncs, for tombstones, and for objects without a UID.
        """
        if isinstance(obj, DeletedFinalStateUnknown) or delta_type in (DeltaType.REPLACED, DeltaType.SYNC):
            return False
        uid, rv = obj.metadata.uid, obj.metadata.resource_version
        if not uid:
            return False
        if stored is None:
            with self._lock:
                ended = self._deleted.get(uid)
            return delta_type is not DeltaType.DELETED and ended is not None and not is_older(ended, rv)
        if delta_type is DeltaType.DELETED and stored.metadata.uid == uid:
            return False
        # If it is older, it is an old state, or the deletion of an earlier object with this name.
        return is_older(rv, stored.metadata.resource_version)
