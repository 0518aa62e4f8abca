"""
The FIFO of an informer that holds only the objects in this process's slots.

A slot becomes *open* when a list that requested it is queued. It stays open until the FIFO handles the slot's
release. Whenever the FIFO's lock is free, each queued or stored object is either in an open slot or
*departing*. A departing object has a single delta, a Deleted with a `Departed`, which removes the object from
the store without calling a handler. If an event or a list is in progress when a slot is released, the FIFO
later rejects its objects in that slot, because the slot is no longer open.

The rules for threads are those of DeltaFIFO: only the reflector adds objects, and only the informer's loop
writes to the store. The thread that changes the slots only queues departures.

A slot that is released and held again counts as a new slot, because the changes in between are not known.
Its objects depart, and the next list adds them as new objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final, TypeVar

from handloop.apis.meta import Kind
from handloop.informers.delta_fifo import Delta, DeltaFIFO, Deltas, DeltaType, KnownObjects, Listed
from handloop.informers.keys import DeletedFinalStateUnknown, Departed, final_state
from handloop.informers.sharding.held_slots import Held
from handloop.informers.sharding.sharded_source import ShardedSource
from handloop.seams.clock import Clock

T = TypeVar("T", bound=Kind)

_DELETED: Final = DeltaType.DELETED


class SlotFIFO(DeltaFIFO[T]):
    """
    A DeltaFIFO that admits only objects in open slots; see the module's docstring.

    State, guarded by _lock unless noted:
        _open       open slot -> the version of HeldSlots that added the slot.
        _listed     the slots that the last list requested.
        _newcomers  the keys of objects that arrived in the list that opened their slot. A key is removed
                    when it has been processed.
        _taken      the newcomers that are being processed.
        _served     the slots that were open when _newcomers was last empty. The mapping is replaced, but
                    never modified, so it can be read without the lock.
        _settled    the held slots and the served slots when they were last found to be equal. The pair is
                    replaced, and read without the lock, because each read of a lister uses it.
    """

    def __init__(
        self,
        known_objects: KnownObjects[T],
        source: ShardedSource[T],
        *,
        transformer: Callable[[T], T] | None,
        name: str,
        clock: Clock,
    ) -> None:
        """Args: source.asked contains the slots that the last list requested. replace reads it."""
        super().__init__(known_objects, transformer=transformer, name=name, clock=clock)
        self._source = source
        self._scope = source.scope
        self._open: dict[int, int] = {}
        self._listed = Held(0, {})
        self._newcomers: set[str] = set()
        self._taken: set[str] = set()
        self._served: dict[int, int] = {}
        self._settled: tuple[Held, dict[int, int]] | None = None

    def replace(self, objects: Listed[T], resource_version: str = "") -> None:  # noqa: ARG002 - a store's signature
        """
        Queue a complete list of the requested slots. The slots that are still held are open from now on.

        Objects in newly opened slots are marked as part of the initial list. If this list requested other
        slots than the previous list, an object that is already stored unchanged is not queued. Without this
        rule, handlers would be called for all objects whenever a slot is added.
        """
        slots = [self._slot_of(obj) for obj in objects]  # hash them before taking the lock
        with self._lock:
            # Read the held slots once. If a slot were released between two reads, its objects would be
            # deleted as unlisted, and the depart() that follows the release would not find them.
            held = self._scope.held.now.since
            self._depart_locked(held)
            asked = self._source.asked
            is_other, self._listed = asked is not self._listed, asked
            opened = self._open_locked(asked, held)
            ours: Listed[T] = Listed()
            unchanged: set[str] = set()
            for key, obj, slot in zip(objects.keys, objects, slots, strict=True):
                if slot not in self._open:
                    continue
                ours.take(key, obj)
                if slot in opened:
                    self._newcomers.add(key)
                elif is_other and key not in self._items and self._known_objects.get_by_key(key) is obj:
                    unchanged.add(key)
            self._replace_locked(ours)
            self._unqueue_locked(unchanged)
            self._serve_locked()

    def depart(self) -> None:
        """Queue the departure of the objects in released slots. Any thread can call this."""
        with self._lock:
            self._depart_locked(self._scope.held.now.since)
            self._lock.notify_all()

    def has_opened(self, version: int) -> bool:
        """Return whether all slots held both at that version and now have been listed and processed."""
        held, served, settled = self._scope.held.now, self._served, self._settled
        if settled is not None and settled[0] is held and settled[1] is served:
            return held.version >= version
        waits_for = [since for slot, since in held.since.items() if served.get(slot) != since]
        if not self.has_synced() or held.version < version:
            return False
        if not waits_for:
            self._settled = held, served
        return all(since > version for since in waits_for)

    def _slot_of(self, obj: T) -> int | None:
        metadata = obj.metadata
        return self._scope.slot_of(metadata.namespace, metadata.uid, metadata.labels)

    def _open_locked(self, asked: Held, held: Mapping[int, int]) -> set[int]:
        """Open the requested slots that are still held. Returns: the slots that were not open before."""
        before = self._open
        self._open = {slot: since for slot, since in asked.since.items() if held.get(slot) == since}
        return {slot for slot, since in self._open.items() if before.get(slot) != since}

    def _depart_locked(self, held: Mapping[int, int]) -> None:
        left = {slot for slot, since in self._open.items() if held.get(slot) != since}
        if not left:
            return
        self._open = {slot: since for slot, since in self._open.items() if slot not in left}
        for key in dict.fromkeys([*self._items, *self._known_objects.list_keys()]):
            obj = self._state_locked(key)
            if obj is not None and self._slot_of(obj) in left:
                if key not in self._items:
                    self._queue.append(key)
                self._items[key] = [Delta(_DELETED, Departed(key, None))]

    def _state_locked(self, key: str) -> T | None:
        """Return the newest state of an object, or None if it is departing or unknown."""
        last = self._items[key][-1].object if key in self._items else None
        if isinstance(last, Departed):
            return None
        state = None if last is None else final_state(last)
        return self._known_objects.get_by_key(key) if state is None else state

    def _append_locked(
        self, entries: Iterable[tuple[str, Delta[T]]], *, is_known: Callable[[str], bool] | None = None
    ) -> None:
        if is_known is not None:  # events
            # Check the events one by one, because whether one is admitted depends on those before it.
            admitted = ((key, self._admitted_locked(key, delta)) for key, delta in entries)
            entries = ((key, delta) for key, delta in admitted if delta is not None)
        super()._append_locked(entries, is_known=is_known)

    def _admitted_locked(self, key: str, delta: Delta[T]) -> Delta[T] | None:
        obj = delta.object
        if isinstance(obj, DeletedFinalStateUnknown):
            departs = key in self._items and isinstance(self._items[key][-1].object, Departed)
            return None if departs else delta
        if self._slot_of(obj) in self._open:
            return delta
        # If an object's label has changed to a slot that is not open, the object is deleted here, as if the
        # server did not send that slot at all.
        state = self._state_locked(key)
        if state is None or state.metadata.uid != obj.metadata.uid:
            return None
        return Delta(_DELETED, DeletedFinalStateUnknown(key, state))

    def _queued_but_unlisted_locked(self, keys: list[str]) -> list[DeletedFinalStateUnknown[T]]:
        gone = super()._queued_but_unlisted_locked(keys)
        return [each for each in gone if not isinstance(self._items[each.key][-1].object, Departed)]

    def _unqueue_locked(self, keys: set[str]) -> None:
        for key in keys:
            del self._items[key]
        if keys:
            self._queue = deque(key for key in self._queue if key in self._items)

    def _take_locked(self, max_keys: int) -> list[tuple[Deltas[T], bool]]:
        if not self._newcomers:
            return super()._take_locked(max_keys)
        keys = list(islice(self._queue, max_keys))
        self._taken = self._newcomers.intersection(keys)
        batch = super()._take_locked(max_keys)
        return [
            (deltas, initial or key in self._taken)
            for key, (deltas, initial) in zip(keys, batch, strict=True)
        ]

    def _count_down_locked(self, processed: int) -> None:
        super()._count_down_locked(processed)
        if self._taken:
            self._newcomers -= self._taken
            self._taken = set()
            self._serve_locked()

    def _serve_locked(self) -> None:
        if not self._newcomers:
            self._served = self._open
