"""
The queue between a reflector and its informer. It stores each object's changes until they are popped.

A *delta* is a single change: its type, and the object's state after it. The *deltas* of a key are its
unprocessed changes, oldest first; this list is never empty. A key is queued only once, and keeps its
place while more deltas arrive.

The reflector thread calls enqueue_batch with watch events, and replace with complete lists. The informer
thread calls pop_batch and resync. Any thread can call has_synced.

Follows: client-go tools/cache/delta_fifo.go @32ce75a7d. Differs: enqueue_batch (for Add, Update and Delete)
and pop_batch handle many keys per call; has_synced becomes true only after the last initial object was
processed, as in RealFIFO; keys are computed and objects transformed before anything is queued.

Today's client-go uses RealFIFO instead, by default since 1.33 and always since 1.36
(features/known_features.go, InOrderInformers). A RealFIFO is one list of single deltas for all keys, in
order of arrival. RealFIFO also delivers the deletion of an unknown object, and puts a relist's tombstones
before the listed objects, not after them. Since 1.36, a relist or a resync is one delta, which is compared
with the store when it is processed, without the FIFO's lock (AtomicFIFO, UnlockWhileProcessingFIFO, on by
default). Here, a key's deltas are popped together, and a relist is immediately compared with the store and
the queue. Therefore, if a relist lacks an object whose Added is still queued, the object's Deleted is queued
too (kubernetes#115658).
Decision: DeltaFIFO, not RealFIFO.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from handloop.informers.keys import (
    CacheError,
    DeletedFinalStateUnknown,
    KeyFunc,
    StoreKeyError,
    final_state,
    meta_namespace_key_func,
)
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_condition
from handloop.seams.logs import get_logger
from handloop.seams.step_trace import TRACE
from handloop.seams.threads import as_error

log = get_logger("delta_fifo")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_SLOW_SECONDS: Final = 0.1  # client-go's thresholds for reporting slow processing
_SLOW_DEPTH: Final = 10

_new_tuple = tuple.__new__  # creates a Delta at half the cost of its constructor


class DeltaType(StrEnum):
    """What happened to an object."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"  # listed again; it may have changed once, several times, or not at all
    SYNC = "Sync"  # no change; the known state is delivered again


# A global is looked up faster than an enum member.
_DELETED: Final = DeltaType.DELETED
_REPLACED: Final = DeltaType.REPLACED


class Delta(NamedTuple, Generic[T]):
    """A single change of an object. If the type is Deleted, the object may be a tombstone."""

    type: DeltaType
    object: T | DeletedFinalStateUnknown[T]


Deltas: TypeAlias = list[Delta[T]]
ProcessBatchFunc: TypeAlias = Callable[[list[tuple[Deltas[T], bool]]], None]
"""Receives [(deltas, is_in_initial_list), ...] in queue order, each key once."""


def extend(deltas: Deltas[T], delta: Delta[T]) -> None:
    """
    Append a delta to its key's deltas, but merge two consecutive Deleted into one.

    The first is kept. But if it holds a tombstone, which may be out of date, the second is kept instead.
    """
    if delta.type is not _DELETED or deltas[-1].type is not _DELETED:
        deltas.append(delta)
    elif isinstance(deltas[-1].object, DeletedFinalStateUnknown):
        deltas[-1] = delta


class FIFOClosed(CacheError):  # noqa: N818 - it is a state, like queue.ShutDown
    """The FIFO is closed and empty, so its consumer must stop."""

    def __init__(self) -> None:
        super().__init__("DeltaFIFO: manipulating with closed queue")


class KnownObjects(Protocol[T_co]):
    """The objects that the consumer has stored so far; an Indexer is one. The methods do not raise."""

    def list_keys(self) -> list[str]:
        """Return the keys of all stored objects."""

    def get_by_key(self, key: str) -> T_co | None:
        """Return the stored object, or None."""


class Listed(list[T]):
    """The transformed objects of a complete list. `keys` has the keys of the objects before the transform."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []

    def take(self, key: str, obj: T) -> None:
        """Append an object."""
        self.keys.append(key)
        self.append(obj)


class DeltaFIFO(Generic[T]):
    """
    Passes unprocessed deltas to one consumer, oldest key first, and detects which objects a relist lacks.

    State, guarded by _lock unless noted:
        _items     key -> its Deltas, never empty.
        _queue     the keys in order; each key of _items is in _queue exactly once.
        _populated whether a replace or a block of events has arrived.
        _initial_count    how many keys of the first replace have not been processed.
        _synced    set once _populated is true and _initial_count is 0; never cleared; read outside the lock.
        _closed    whether close() was called; never reset.

    Threads: any thread can add; only one thread consumes.
    """

    def __init__(
        self,
        known_objects: KnownObjects[T],
        *,
        transformer: Callable[[T], T] | None = None,
        name: str = "DeltaFIFO",
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """
        Create an empty FIFO.

        Args: known_objects is the store that relists and resyncs are compared with. transformer is applied
        to the object of every watch event before it is queued, but not to tombstones. It must be pure.
        """
        self._lock = new_condition("DeltaFIFO._lock", 20)
        self._items: dict[str, Deltas[T]] = {}
        self._queue: deque[str] = deque()
        self._populated = False
        self._initial_count = 0
        self._synced = threading.Event()
        self._closed = False
        self._known_objects = known_objects
        self._transformer = transformer
        self._name = name
        self._clock = clock

    def enqueue_batch(self, entries: Iterable[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]) -> None:
        """
        Queue a block of watch events in order. The lock is acquired once, and the consumer woken once.

        A Deleted for a key that is neither queued nor known is dropped.

        Args: entries are pairs of a type (ADDED, UPDATED or DELETED) and an object.
        Raises: ExceptionGroup with a StoreKeyError or the transformer's error for each entry that could not
        be queued. The other entries are queued.
        """
        entries = list(entries)
        prepared, errors = self._prepare(entries)
        if prepared:
            with self._lock:
                self._populate_locked(0)
                self._append_locked(prepared, is_known=self._is_known_locked)
                self._lock.notify_all()
        if errors:
            raise ExceptionGroup(f"{len(errors)} of {len(entries)} events not queued", errors)

    def replace(self, objects: Listed[T], resource_version: str = "") -> None:  # noqa: ARG002 - a store's signature
        """
        Queue a Replaced for each object of a complete list, and a Deleted for each key that the list lacks.

        Each Deleted holds a tombstone with the newest queued state of its object, or with the stored state if
        the key is not queued. If nothing was queued before the first call, has_synced returns False until the
        keys that this call queues are processed.
        """
        with self._lock:
            self._replace_locked(objects)

    def resync(self) -> None:
        """
        Queue a Sync, with the known state, for each known key that is not queued.

        A queued key needs no Sync, because its deltas are newer than the known state.
        """
        known = self._known_objects
        with self._lock:
            idle = [key for key in known.list_keys() if key not in self._items]
            states = ((key, _known_state(known, key)) for key in idle)
            self._append_locked((key, Delta(DeltaType.SYNC, obj)) for key, obj in states if obj is not None)
            self._lock.notify_all()

    def pop_batch(
        self, process: ProcessBatchFunc[T], max_keys: int = 256, timeout_seconds: float | None = None
    ) -> int:
        """
        Remove the oldest keys, at most max_keys, and pass their deltas to process in one call.

        Returns: the number of keys, or 0 if no key was queued before the timeout.
        Blocks: until a key is queued, close() is called, or the timeout (None means no limit) has passed.
        Raises: FIFOClosed if the FIFO is closed and empty; any error of process; the deltas are then lost.
        Locks: process runs with the FIFO's lock held, so that replace() never compares with a store that
        lacks a popped object. process must not block, call handlers, or call this FIFO, except for
        has_synced and len.
        """
        with self._lock:
            if not self._wait_for_key_locked(timeout_seconds):
                return 0
            # (3) pop
            batch = self._take_locked(max_keys)
            depth, started_at = len(self._queue), self._clock.now()
            try:
                process(batch)  # an informer passes DeltaProcessor.process, which calls Indexer.apply
            finally:
                # Count after process, because has_synced must not become true before the last initial
                # object is stored.
                self._count_down_locked(len(batch))
        self._report_slow(depth, self._clock.now() - started_at)
        return len(batch)

    def close(self) -> None:
        """Close the FIFO. Deltas can still be added. Once it is empty, each pop_batch raises FIFOClosed."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    def has_synced(self) -> bool:
        """Return True if all keys of the first list were processed, or if a watch event was queued first."""
        return self._synced.is_set()

    def __len__(self) -> int:
        """Return the number of queued keys. A gauge can read it without waiting for the consumer."""
        return len(self._queue)

    def is_drained(self) -> bool:
        """Return True if no key is queued or being processed. Blocks: while process is running."""
        with self._lock:
            return not self._queue

    def _key(self, obj: T | DeletedFinalStateUnknown[T]) -> str:
        if obj.__class__ is DeletedFinalStateUnknown:
            return obj.key
        try:
            return meta_namespace_key_func(obj)  # type: ignore[arg-type] # a store's object
        except Exception as error:
            raise StoreKeyError(obj, error) from error

    def _delta(self, kind: DeltaType, obj: T | DeletedFinalStateUnknown[T]) -> Delta[T]:
        if self._transformer is not None and not isinstance(obj, DeletedFinalStateUnknown):
            obj = self._transformer(obj)
        return _new_tuple(Delta, (kind, obj))

    def _prepare(
        self, entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]
    ) -> tuple[list[tuple[str, Delta[T]]], list[Exception]]:
        """Return the entries that can be queued, with their keys, and the errors of the other entries."""
        if self._transformer is None:
            key_func: KeyFunc = meta_namespace_key_func
            with suppress(Exception):  # works for nearly every block, at half the cost; if not, see below
                return [(key_func(entry[1]), _new_tuple(Delta, entry)) for entry in entries], []
        prepared: list[tuple[str, Delta[T]]] = []
        errors: list[Exception] = []
        for kind, obj in entries:
            try:
                prepared.append((self._key(obj), self._delta(kind, obj)))
            except BaseException as error:  # noqa: BLE001 - a bad object must not stop the others
                errors.append(as_error(error))
        return prepared, errors

    def _replace_locked(self, objects: Listed[T]) -> None:
        deltas = (_new_tuple(Delta, (_REPLACED, obj)) for obj in objects)
        gone = self._queued_but_unlisted_locked(objects.keys)
        self._append_locked(zip(objects.keys, deltas, strict=True))
        gone += self._known_but_not_queued_locked()  # by now, every listed key is queued
        self._append_locked((tombstone.key, Delta(_DELETED, tombstone)) for tombstone in gone)
        self._populate_locked(len(self._items))
        self._lock.notify_all()

    def _populate_locked(self, initial_count: int) -> None:
        if not self._populated:
            self._populated = True
            self._initial_count = initial_count
            if initial_count == 0:
                self._synced.set()

    def _is_known_locked(self, key: str) -> bool:
        return self._known_objects.get_by_key(key) is not None

    def _append_locked(
        self, entries: Iterable[tuple[str, Delta[T]]], *, is_known: Callable[[str], bool] | None = None
    ) -> None:
        """Queue entries in order. With is_known, drop a Deleted whose key is neither queued nor known."""
        items, queue = self._items, self._queue
        # (2) add object
        for key, delta in entries:
            deltas = items.get(key)
            if TRACE.on:
                tombstone = isinstance(delta.object, DeletedFinalStateUnknown)
                TRACE.tell(2, self._name, key, type=delta.type, joins=len(deltas or ()), tombstone=tombstone)
            if deltas is not None:
                extend(deltas, delta)
            elif is_known is None or delta.type is not _DELETED or is_known(key):
                items[key] = [delta]
                queue.append(key)

    def _queued_but_unlisted_locked(self, keys: list[str]) -> list[DeletedFinalStateUnknown[T]]:
        listed = set(keys) if self._items else ()  # usually nothing is queued, and no set is needed
        return [
            DeletedFinalStateUnknown(key, final_state(deltas[-1].object))
            for key, deltas in self._items.items()
            if key not in listed
        ]

    def _known_but_not_queued_locked(self) -> list[DeletedFinalStateUnknown[T]]:
        known = self._known_objects
        missing = [key for key in known.list_keys() if key not in self._items]
        return [DeletedFinalStateUnknown(key, _known_state(known, key)) for key in missing]

    def _wait_for_key_locked(self, timeout_seconds: float | None) -> bool:
        give_up_at = math.inf if timeout_seconds is None else self._clock.now() + timeout_seconds
        while not self._queue:
            if self._closed:
                raise FIFOClosed
            if not self._clock.wait_until(self._lock, give_up_at):
                return bool(self._queue)
        return True

    def _take_locked(self, max_keys: int) -> list[tuple[Deltas[T], bool]]:
        items, queue = self._items, self._queue
        keys = [queue.popleft() for _ in range(min(max_keys, len(queue)))]
        if TRACE.on:
            for key in keys:
                TRACE.tell(3, self._name, key, types=[delta.type for delta in items[key]], left=len(queue))
        if self._synced.is_set():
            return [(items.pop(key), False) for key in keys]
        initial = self._initial_count if self._populated else len(keys)
        return [(items.pop(key), position < initial) for position, key in enumerate(keys)]

    def _count_down_locked(self, processed: int) -> None:
        if self._initial_count > 0:
            self._initial_count = max(0, self._initial_count - processed)
            if self._initial_count == 0:
                self._synced.set()

    def _report_slow(self, depth: int, seconds: float) -> None:
        if depth > _SLOW_DEPTH and seconds > _SLOW_SECONDS:
            log.info("DeltaFIFO Pop Process", id=self._name, depth=depth, seconds=round(seconds, 3))


def _known_state(known: KnownObjects[T], key: str) -> T | None:
    obj = known.get_by_key(key)
    if obj is None:
        log.info("Key does not exist in known objects store", key=key)
    return obj
