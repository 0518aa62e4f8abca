"""
Puts complete lists and watch events into the FIFO, and quarantines objects that do not fit their type.

`translate` is pure and turns a block of watch events into entries for the FIFO. `EventIntake` queues them.
Follows: client-go tools/cache/reflector.go @32ce75a7d (handleAnyWatch). Differs: an event of an unknown type
does not change the resource version. An object without a name or resource version ends the stream, because
the reflector could not resume a watch from such an event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from handloop.apis.meta import Kind
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.sieve import Foreign
from handloop.client.decoding.watch_stream import Bookmark, EventType, WatchEvent
from handloop.client.errors import APIError, DecodeError
from handloop.informers.delta_fifo import DeltaType, Listed
from handloop.informers.history_guard import HistoryGuard, is_older
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    deletion_handling_meta_namespace_key_func,
)
from handloop.informers.quarantine import Quarantine, store_key
from handloop.informers.relist_policy import StaleBookmark
from handloop.informers.restriction import Restriction
from handloop.seams.logs import get_logger, in_words

log = get_logger("informers")

T = TypeVar("T", bound=Kind)

_ADDED: Final = DeltaType.ADDED
_DELETED: Final = DeltaType.DELETED
_DELTA_TYPES: Final = {
    EventType.ADDED: DeltaType.ADDED,
    EventType.MODIFIED: DeltaType.UPDATED,
    EventType.DELETED: DeltaType.DELETED,
}


class EventBlock(NamedTuple, Generic[T]):
    """
    A block of watch events, translated for the FIFO.

    entries: the changes, in the order of the events.
    resource_version: where the next watch continues; "" if the block does not change that.
    accepted, bookmarks: how many events were understood, and how many of these are bookmarks.
    all_added: whether every understood event is ADDED.
    deletions: how many objects were deleted.
    out_of_order: whether an event is older than an earlier one.
    undecodable: the event type and the object of each event whose object does not fit its type.
    end: the error that ends the stream after these entries, or None.
    """

    entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]
    resource_version: str
    accepted: int
    all_added: bool
    deletions: int
    out_of_order: bool
    undecodable: list[tuple[EventType, Undecodable]]
    end: Exception | None
    bookmarks: int = 0

    @property
    def only(self) -> dict[str, str]:
        """Return the type and key if there is exactly one entry, and otherwise {}."""
        if len(self.entries) != 1:
            return {}
        ((delta_type, obj),) = self.entries
        return {"type": delta_type, "name": deletion_handling_meta_namespace_key_func(obj)}


def translate(events: list[WatchEvent[T]], kind: type[T], *, seen: str) -> EventBlock[T]:
    """
    Translate a block of watch events into entries for the FIFO.

    Args: seen is the newest resource version before the block.
    """
    entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]] = []
    undecodable: list[tuple[EventType, Undecodable]] = []
    rv, newest, bookmarks, foreign = "", seen, 0, 0
    all_added, out_of_order, deletions = True, False, 0
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
            # On a healthy server, the first two comparisons are false for nearly all events.
            if (rv < newest or len(rv) < len(newest)) and is_older(rv, newest):
                out_of_order = True
            else:
                newest = rv
            entries.append((delta_type, obj))
            if delta_type is not _ADDED:
                all_added = False
                deletions += delta_type is _DELETED
        elif isinstance(obj, Undecodable) and delta_type is not None:
            # Remove the object's earlier state from the store. Quarantine explains why.
            entries.append((DeltaType.DELETED, DeletedFinalStateUnknown(store_key(obj), None)))
            undecodable.append((event_type, obj))
            rv, all_added = obj.resource_version or rv, False
        elif isinstance(obj, Bookmark):
            if is_older(obj.resource_version, seen):
                end = StaleBookmark(f"bookmark at resource version {obj.resource_version} after {seen}")
                break
            rv, all_added = obj.resource_version or rv, False
            bookmarks += 1
        elif isinstance(obj, APIError):
            end = obj
            break
        elif isinstance(obj, Foreign):
            foreign += 1
            rv = newest = newest if is_older(obj.resource_version, newest) else obj.resource_version
        else:
            log.error("Unexpected watch event ignored", type=str(event_type), object=repr(obj)[:200])
    accepted = len(entries) + bookmarks + foreign
    return EventBlock(entries, rv, accepted, all_added, deletions, out_of_order, undecodable, end, bookmarks)


class ReflectorStore(Protocol[T]):
    """The part of a DeltaFIFO that receives a reflector's objects and events."""

    def enqueue_batch(self, entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]) -> None:
        """Queue a block of changes. Raises: ExceptionGroup with an error for each change not queued."""

    def replace(self, objects: Listed[T], resource_version: str) -> None:
        """Replace the content with a complete list."""


class EventIntake(Generic[T]):
    """
    Queues a reflector's lists and events, and reports deletions and disordered events to the HistoryGuard.

    Threads: runs on the reflector's thread.
    """

    def __init__(
        self,
        store: ReflectorStore[T],
        *,
        guard: HistoryGuard[T],
        quarantine: Quarantine,
        name: str,
        restriction: Restriction[T],
    ) -> None:
        """Args: name is the reflector's name, for messages."""
        self._store = store
        self._guard = guard
        self._quarantine = quarantine
        self._name = name
        self._restriction = restriction

    def replace(self, objects: Listed[T], undecodable: list[Undecodable], resource_version: str) -> None:
        """
        Put a complete list into the FIFO.

        Raises: any error from the store. Even then, the objects that do not fit their type are put into the
        quarantine.
        """
        self._hold(undecodable)
        self._store.replace(objects, resource_version)
        if undecodable or not self._quarantine.is_idle():
            self._quarantine.replace(undecodable, mended=frozenset(objects.keys))
            self._restriction.forget_foreign(self._quarantine)

    def put(self, block: EventBlock[T]) -> None:
        """Put a block of events into the FIFO. Entries that the store refuses are logged."""
        self._note(block)
        misfits = _misfits(block) if block.undecodable else {}
        self._hold(misfits.values())
        if block.entries:
            self._enqueue(block)
        if block.accepted and not self._quarantine.is_idle():
            last = {deletion_handling_meta_namespace_key_func(obj): each for each, obj in block.entries}
            mended = {key for key, delta_type in last.items() if delta_type is not _DELETED}
            self._quarantine.release(last.keys() - misfits.keys(), mended=mended)
            self._restriction.forget_foreign(self._quarantine)

    def _note(self, block: EventBlock[T]) -> None:
        if block.out_of_order and not self._guard.is_needed:
            log.warning("Server sends events out of order; old ones are dropped", reflector=self._name)
            self._guard.saw_disorder()
        if block.deletions:
            for delta_type, obj in block.entries:
                if delta_type is DeltaType.DELETED:
                    self._guard.note_deleted(obj)

    def _enqueue(self, block: EventBlock[T]) -> None:
        try:
            self._store.enqueue_batch(block.entries)
        except ExceptionGroup as group:
            for error in group.exceptions:
                log.error(  # noqa: TRY400 - one line for each error, without the group's traceback
                    "Unable to queue watch event object", reflector=self._name, err=in_words(error)
                )

    def _hold(self, undecodable: Iterable[Undecodable]) -> None:
        """Quarantine objects before they leave the store, so that no reader thinks they were deleted."""
        for each in undecodable:
            self._quarantine.add(each)


def _misfits(block: EventBlock[T]) -> dict[str, Undecodable]:
    """Return the objects that do not fit their type and are not deleted later in the block, by store key."""
    last = {deletion_handling_meta_namespace_key_func(obj): obj for _, obj in block.entries}
    odd = {store_key(each): (event_type, each) for event_type, each in block.undecodable}
    return {
        key: each
        for key, (event_type, each) in odd.items()
        if event_type is not EventType.DELETED and isinstance(last[key], DeletedFinalStateUnknown)
    }
