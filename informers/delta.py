"""
What happened to an object, and what several things that happened to one object are together.

Follows: client-go tools/cache/delta_fifo.go @32ce75a7d (Delta, Deltas, dedupDeltas).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from handloop.informers.keys import DeletedFinalStateUnknown

T = TypeVar("T")


class DeltaType(StrEnum):
    """What happened to an object."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"  # listed anew: nothing may have happened, or several things unseen
    SYNC = "Sync"  # nothing happened: the known state, once more


class Delta(NamedTuple, Generic[T]):
    """One thing that happened. The object of a Deleted may be a tombstone."""

    type: DeltaType
    object: T | DeletedFinalStateUnknown[T]


Deltas: TypeAlias = list[Delta[T]]

_DELETED: Final = DeltaType.DELETED  # a global is found faster than a member of an enum


def extend(deltas: Deltas[T], delta: Delta[T]) -> None:
    """
    Add a delta to those of its key, except that two Deleted in a row are one.

    Of two, the first stays, unless it holds a tombstone: a final state is worth more.
    """
    if delta.type is not _DELETED or deltas[-1].type is not _DELETED:
        deltas.append(delta)
    elif isinstance(deltas[-1].object, DeletedFinalStateUnknown):
        deltas[-1] = delta
