"""
Where a block of watch events goes: into the FIFO, what does not fit its type into the quarantine.

What needs to be known to tell the past from the present is noted on the way.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

import structlog

from handloop.apis.meta import Kind
from handloop.client.decoding.watch_events import EventType
from handloop.informers.delta import DeltaType
from handloop.informers.keys import DeletedFinalStateUnknown, deletion_handling_meta_namespace_key_func
from handloop.informers.reflecting.event_block import EventBlock
from handloop.informers.reflecting.history_guard import HistoryGuard
from handloop.informers.reflecting.quarantine import Quarantine, store_key

log = structlog.get_logger("informers")

T = TypeVar("T", bound=Kind)


class ReflectorStore(Protocol[T]):
    """Where a reflector puts what it reads: a DeltaFIFO."""

    def enqueue_batch(self, entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]) -> None:
        """Take a block of changes. Raises: ExceptionGroup for those that it could not take."""

    def replace(self, objects: list[T], resource_version: str) -> None:
        """Take a complete list."""


class EventIntake(Generic[T]):
    """Takes in what a reflector reads from its streams. Threads: the reflector's."""

    def __init__(
        self, store: ReflectorStore[T], *, guard: HistoryGuard[T], quarantine: Quarantine, name: str
    ) -> None:
        """Args: name is that of the reflector, for messages."""
        self._store = store
        self._guard = guard
        self._quarantine = quarantine
        self._name = name

    def put(self, block: EventBlock[T]) -> None:
        """Take a block; what the store refuses is logged, and the rest goes in."""
        self._note(block)
        if block.entries:
            self._enqueue(block)
        if block.accepted and (block.undecodable or len(self._quarantine)):
            self._quarantine_block(block)

    def _note(self, block: EventBlock[T]) -> None:
        if block.out_of_order and not self._guard.is_needed:
            log.warning("Server sends events out of order, old ones are dropped", reflector=self._name)
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
                log.error(  # noqa: TRY400 - one line for each, without the group's traceback
                    "Unable to queue watch event object", reflector=self._name, err=str(error)
                )

    def _quarantine_block(self, block: EventBlock[T]) -> None:
        fits = (obj for _, obj in block.entries)
        self._quarantine.release(
            deletion_handling_meta_namespace_key_func(obj)
            for obj in fits
            if not isinstance(obj, DeletedFinalStateUnknown)
        )
        for event_type, undecodable in block.undecodable:
            if event_type is EventType.DELETED:
                self._quarantine.release([store_key(undecodable)])
            else:
                self._quarantine.add(undecodable)
