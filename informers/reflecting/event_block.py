"""
A block of watch events, turned into what the FIFO takes. Pure: one block in, one answer out.

Follows: client-go tools/cache/reflector.go @32ce75a7d (handleAnyWatch). Differs: an unknown type of event
does not move the resource version; an object without name or resource version ends the stream, since there is
no way on from it.
"""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

import structlog

from handloop.apis.meta import Object
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_events import Bookmark, EventType, WatchEvent
from handloop.client.errors import APIError, ClientError, DecodeError
from handloop.informers.delta import DeltaType
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.reflecting.quarantine import store_key
from handloop.informers.reflecting.resource_versions import is_older

log = structlog.get_logger("informers")

T = TypeVar("T", bound=Object)

_ADDED: Final = DeltaType.ADDED
_DELETED: Final = DeltaType.DELETED
_DELTA_TYPES: Final = {
    EventType.ADDED: DeltaType.ADDED,
    EventType.MODIFIED: DeltaType.UPDATED,
    EventType.DELETED: DeltaType.DELETED,
}


class StaleBookmark(ClientError):  # noqa: N818 - what it is
    """A server says that its history ends before something that it has already sent."""


class EventBlock(NamedTuple, Generic[T]):
    """
    What a block of events says.

    entries in order; resource_version = where to go on after them, "" = unchanged; accepted = how many events
    were understood; initial = whether all of them were ADDED; deletions = how many objects were DELETED;
    out_of_order = whether one is older than one before it; undecodable = (type, object) of those among
    entries that do not fit; end = what ends the stream after the entries, None = nothing.
    """

    entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]
    resource_version: str
    accepted: int
    initial: bool
    deletions: int
    out_of_order: bool
    undecodable: list[tuple[EventType, Undecodable]]
    end: Exception | None


def translate(events: list[WatchEvent[T]], kind: type[T], *, seen: str) -> EventBlock[T]:
    """
    Read a block.

    Args: seen = the newest resource version before it.
    """
    entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]] = []
    undecodable: list[tuple[EventType, Undecodable]] = []
    rv, newest, bookmarks = "", seen, 0
    initial, out_of_order, deletions = True, False, 0
    end: Exception | None = None
    delta_type_of = _DELTA_TYPES.get
    for event_type, obj in events:
        delta_type = delta_type_of(event_type)
        if isinstance(obj, kind) and delta_type is not None:
            metadata = obj.metadata
            if not metadata.resource_version or not metadata.name:
                end = DecodeError(f"the object of a {event_type} event has no name or no resource version")
                break
            rv = metadata.resource_version
            # the first two comparisons are false for nearly all events of a healthy server
            if (rv < newest or len(rv) < len(newest)) and is_older(rv, newest):
                out_of_order = True
            else:
                newest = rv
            entries.append((delta_type, obj))
            if delta_type is not _ADDED:
                initial = False
                if delta_type is _DELETED:
                    deletions += 1
        elif isinstance(obj, Undecodable) and delta_type is not None:
            # what it was before must not live on in the store: see quarantine.py
            entries.append((DeltaType.DELETED, DeletedFinalStateUnknown(store_key(obj), None)))
            undecodable.append((event_type, obj))
            rv, initial = obj.resource_version or rv, False
        elif isinstance(obj, Bookmark):
            if is_older(obj.resource_version, seen):
                end = StaleBookmark(f"bookmark at resource version {obj.resource_version}, seen {seen}")
                break
            rv, initial = obj.resource_version or rv, False
            bookmarks += 1
        elif isinstance(obj, APIError):
            end = obj
            break
        else:
            log.error("Unexpected watch event ignored", type=str(event_type), object=repr(obj)[:200])
    return EventBlock(
        entries, rv, bookmarks + len(entries), initial, deletions, out_of_order, undecodable, end
    )
